import { type Command, InvalidArgumentError } from 'commander';
import { readConfig } from '../config/config.ts';
import type { FieldMapping } from '../integrations/django/fields.ts';
import { USER_FIELDS } from '../integrations/django/user.ts';
import { Email } from '../lib/email-address.ts';
import { invalid } from '../lib/problems.ts';
import { runWork } from './run-work.ts';

export const addPeopleCommands = (program: Command): void => {
  addUserCommands(program);
  addMfaCommands(program);
  addImportCommand(program);
};

const MAX_ID = 2 ** 31 - 1;

const readId = (text: string): number => {
  if (!/^[1-9]\d{0,9}$/.test(text) || Number(text) > MAX_ID)
    throw new InvalidArgumentError('Expected a positive integer.');
  return Number(text);
};

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

const loadDataRights = () => import('./data-rights.ts');

const addUserCommands = (program: Command): void => {
  const users = program.command('users').description('Export the data of people');

  users
    .command('export')
    .description('Write everything about a person to a zip file')
    .argument('<email>', 'email address', readEmail)
    .argument('<file>', 'file to create')
    .addHelpText('after', EXPORT_HELP)
    .action((email: string, file: string) =>
      runWork(loadDataRights, ({ exportUser }, config) => exportUser(config, email, file)),
    );

  program
    .command('erase')
    .description('Replace a person by a pseudonym')
    .argument('<address>', 'email address, of an account or of someone without one', readEmail)
    .option('--confirm <address>', 'the same address again, instead of typing it')
    .addHelpText('after', ERASE_HELP)
    .action((email: string, { confirm }: { confirm?: string }) =>
      runWork(loadDataRights, ({ eraseUser }, config) => eraseUser(config, email, confirm)),
    );
};

const RESET_HELP = `
Removes all second factors and recovery codes of a user who has lost them, and informs them by email. They log in with
their password alone until they enrol again. Admins reset the second factors of others in the console; this command
also helps the last superuser. The reset is recorded in the audit trail.`;

const addMfaCommands = (program: Command): void => {
  program
    .command('mfa')
    .description('Reset second factors')
    .command('reset')
    .description('Remove the second factors and recovery codes of a user')
    .argument('<email>', 'email address', readEmail)
    .option('--reason <text>', 'recorded in the audit trail', '')
    .addHelpText('after', RESET_HELP)
    .action((email: string, { reason }: { reason: string }) =>
      runWork(
        () => import('./database-work.ts'),
        ({ resetSecondFactors }, config) => resetSecondFactors(config, email, reason),
      ),
    );
};

const IMPORT_HELP = `
FILE is the output of \`manage.py dumpdata --output FILE\`. One invalid record rejects the whole file; existing users
are not changed. Every field of the user model that has values must be imported, mapped or dropped.

Examples:
  steward import-django users.json --dry-run
  steward import-django users.json --client 1 --drop groups --map extra=data_restrictions
  steward import-django all.json --model accounts.user --map extra=accounts.profile.settings`;

export type ImportArguments = {
  client?: number;
  model?: string;
  map: FieldMapping[];
  drop: string[];
  resetUnsupportedPasswords?: boolean;
  dryRun?: boolean;
  report?: string;
};

const addImportCommand = (program: Command): void => {
  program
    .command('import-django')
    .description('Import the users of a Django service, with their passwords')
    .argument('<file>', 'JSON file created by dumpdata')
    .option('--client <id>', 'add the users to this client', readId)
    .option('--model <label>', 'user model, if the dump has several', readModel)
    .option(
      '--map <field=source>',
      'read a field from another field, or from app.model.field of a model that references users by `user`',
      readMapping,
      [],
    )
    .option('--drop <field>', 'ignore a field of the user model', append, [])
    .option(
      '--reset-unsupported-passwords',
      'import users with unsupported password hashes without a password',
    )
    .option('--dry-run', 'run the import and roll it back')
    .option('--report <file>', 'write errors and skipped records to a CSV file')
    .addHelpText('after', IMPORT_HELP)
    .action(async (file: string, options: ImportArguments) => {
      const config = readConfig(process.env);
      const { importDjango } = await import('./import-users.ts');
      if (!(await importDjango(config, file, options))) process.exitCode = 1;
    });
};

const append = (text: string, previous: string[]): string[] => [...previous, text];

const readMapping = (text: string, previous: FieldMapping[]): FieldMapping[] => {
  const [, name, model, field = ''] = /^(\w+)=(?:(\w+\.\w+)\.)?(\w+)$/.exec(text) ?? [];
  if (name === undefined) {
    throw new InvalidArgumentError(
      'Expected a mapping such as extra=restrictions or extra=accounts.profile.restrictions.',
    );
  }
  const target = USER_FIELDS.find((known) => known === name);
  if (!target)
    throw new InvalidArgumentError(`Unknown field ${name}; expected one of ${USER_FIELDS.join(', ')}.`);
  return [...previous, { target, source: { model: model?.toLowerCase() ?? null, field } }];
};

/** Dumps have lower-case model names. */
const readModel = (text: string): string => {
  if (!/^\w+\.\w+$/.test(text)) throw new InvalidArgumentError('Expected a model such as auth.user.');
  return text.toLowerCase();
};
