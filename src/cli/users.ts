import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { Email } from '../lib/email-address.ts';
import { invalid } from '../lib/problems.ts';

const EXPORT_HELP = `
Writes a zip archive with each kind of data as JSON and as CSV, readable for you only. The export is recorded in the
audit trail. It holds no passwords, tokens or links.`;

const ERASE_HELP = `
Replaces the person by a pseudonym in all tables: the account, invitations, mails, usage and the audit trail. It cannot be
undone. Type the address again when asked; without a terminal, pass it with --confirm. If the command is interrupted, the
running service finishes the erasure, or the next one that starts. Backups hold the person until you delete them.`;

/** An email address, in lower case. @throws Problem `invalid-input` */
export const readEmail = (text: string): string => {
  const email = Email.safeParse(text);
  if (!email.success) throw invalid({ email: email.error.issues.map(({ message }) => message) });
  return email.data;
};

export const addUserCommands = (program: Command): void => {
  const users = program.command('users').description('Export and erase the data of people');

  users
    .command('export')
    .description('Write everything about a person to a zip file')
    .argument('<email>', 'email address')
    .argument('<file>', 'file to create')
    .addHelpText('after', EXPORT_HELP)
    .action(async (email: string, file: string) => {
      const config = readConfig(process.env);
      const { exportUser } = await import('./data-rights.ts');
      process.stdout.write(`${await exportUser(config, readEmail(email), file)}\n`);
    });

  users
    .command('erase')
    .description('Replace a person by a pseudonym everywhere')
    .argument('<email>', 'email address')
    .option('--confirm <email>', 'the same address again, instead of typing it')
    .addHelpText('after', ERASE_HELP)
    .action(async (email: string, { confirm }: { confirm?: string }) => {
      const config = readConfig(process.env);
      const { eraseUser } = await import('./data-rights.ts');
      process.stdout.write(`${await eraseUser(config, readEmail(email), confirm)}\n`);
    });
};
