import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import { Email } from '../lib/email-address.ts';
import { invalid } from '../lib/problems.ts';

const HELP = `
The password is read from ADMIN_PASSWORD. Without it, an existing password is kept; otherwise a random password is
generated and shown once.`;

export const addAdminCommands = (program: Command): void => {
  program
    .command('create-admin')
    .description('Create a superuser, or promote a user')
    .argument('<email>', 'email address')
    .addHelpText('after', HELP)
    .action(async (argument: string) => {
      const config = readConfig(process.env);
      const email = readEmail(argument);
      const generated = randomBytes(12).toString('base64url');

      const { createAdminAccount: makeAdmin } = await import('./make-admin.ts');
      const isGeneratedUsed = await makeAdmin(config, email, generated);
      process.stdout.write(`${email} is a superuser.\n`);
      if (isGeneratedUsed) process.stdout.write(`Its password, shown this once: ${generated}\n`);
    });
};

const readEmail = (text: string): string => {
  const email = Email.safeParse(text);
  if (!email.success) throw invalid({ email: email.error.issues.map(({ message }) => message) });
  return email.data;
};
