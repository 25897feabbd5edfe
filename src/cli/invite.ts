import { basename } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { readConfig } from '../config/config.ts';

const HELP = `
The first line of the file names its columns:
  email         required
  apps          ids or slugs of apps of the client, divided by spaces or semicolons
  is_demo_user  true or false
  extra         an object in JSON
The fields are divided by commas, semicolons or tabs; the text is UTF-8; at most 100,000 people.
All are invited, or nobody is. An invitation that is pending is renewed. The mails are queued: the running service
sends them, else the next one that is started.`;

type Options = { client: number; as?: string; dryRun?: boolean; report?: string };

export const addInviteCommand = (program: Command): void => {
  program
    .command('invite')
    .description('invite the people of a CSV file to a client')
    .argument('<file>', 'CSV file')
    .requiredOption('--client <id>', 'id of the client', readId)
    .option(
      '--as <email>',
      'who invites: a superuser or an admin of the client (default: the first superuser)',
    )
    .option('--dry-run', 'check everything, and change nothing')
    .option('--report <file>', 'where to write what is wrong (default: NAME.report.csv in this folder)')
    .addHelpText('after', HELP)
    .action(async (file: string, { client, as, dryRun = false, report = reportOf(file) }: Options) => {
      const config = readConfig(process.env);
      const { invitePeople } = await import('./invite-people.ts');
      const isAccepted = await invitePeople(config, file, { clientId: client, as, dryRun, report });
      if (!isAccepted) process.exitCode = 1;
    });
};

const readId = (text: string): number => {
  // PostgreSQL's int4 holds every number of nine digits.
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is not an id: a whole number from 1.');
  return Number(text);
};

const reportOf = (file: string): string => `${basename(file).replace(/\.csv$/i, '')}.report.csv`;
