import { type Command, InvalidArgumentError } from 'commander';
import { readConfig } from '../config/config.ts';
import type { FieldMapping } from '../integrations/django/fields.ts';
import { USER_FIELDS } from '../integrations/django/user.ts';
import { readId } from './invite.ts';

const HELP = `
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

export const addImportCommand = (program: Command): void => {
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
    .addHelpText('after', HELP)
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
