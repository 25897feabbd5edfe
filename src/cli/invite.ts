import { basename, dirname, join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { readConfig } from '../config/config.ts';

const HELP = `
The first line of the file contains the column names:
  email         required
  apps          ids or slugs of the client's apps, separated by spaces, commas or semicolons
  client        the id of the client, if given the same as --client
  is_demo_user  true or false
  extra         a JSON object
The names of the REST interface are the same, but apps is also called initial_apps.
Fields are separated by commas, semicolons or tabs; the encoding is UTF-8; at most 100,000 rows.
All people are invited, or none if there are errors. Pending invitations are renewed. Mails are queued: the running
service sends them, or the next one that starts.`;

type Options = { client: number; as?: string; dryRun?: boolean; report?: string };

export const addInviteCommand = (program: Command): void => {
  program
    .command('invite')
    .description('Invite the people in a CSV file to a client')
    .argument('<file>', 'CSV file')
    .requiredOption('--client <id>', 'id of the client', readId)
    .option('--as <email>', 'inviter: a superuser or an admin of the client (default: the first superuser)')
    .option('--dry-run', 'validate the file without changing anything')
    .option('--report <file>', 'file for errors (default: NAME.report.csv beside the CSV file)')
    .addHelpText('after', HELP)
    .action(async (file: string, { client, as, dryRun = false, report = reportOf(file) }: Options) => {
      const config = readConfig(process.env);
      const { invitePeople } = await import('./invite-people.ts');
      const isAccepted = await invitePeople(config, file, { clientId: client, as, dryRun, report });
      if (!isAccepted) process.exitCode = 1;
    });
};

const MAX_ID = 2 ** 31 - 1;

export const readId = (text: string): number => {
  if (!/^[1-9]\d{0,9}$/.test(text) || Number(text) > MAX_ID)
    throw new InvalidArgumentError('Expected a positive integer.');
  return Number(text);
};

const reportOf = (file: string): string =>
  join(dirname(file), `${basename(file).replace(/\.csv$/i, '')}.report.csv`);
