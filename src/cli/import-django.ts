import { type Command, InvalidArgumentError } from 'commander';
import { readConfig } from '../config/config.ts';
import { type FieldMapping, USER_FIELDS } from '../integrations/django/fields.ts';

const HELP = `
FILE is what \`manage.py dumpdata --output FILE\` writes. One faulty record, and nobody is imported; users whose address
is there already stay as they are. Every field of the user model that has values is imported, mapped or dropped.

Examples:
  steward import-django users.json --dry-run
  steward import-django users.json --client 1 --drop groups --map extra=data_restrictions
  steward import-django all.json --model accounts.user --map extra=accounts.profile.settings`;

const MAX_ID = 2 ** 31 - 1;

export type ImportArguments = {
  client?: number;
  model?: string;
  map: FieldMapping[];
  drop: string[];
  resetUnsupportedPasswords?: boolean;
  dryRun?: boolean;
  report?: string;
};

export const addImportCommands = (program: Command): void => {
  program
    .command('import-django')
    .description('bring the users of a Django service over, with their passwords')
    .argument('<file>', 'JSON file made by dumpdata')
    .option('--client <id>', 'client that they become members of', readId)
    .option('--model <label>', "the service's user model, if the dump has several", readModel)
    .option(
      '--map <field=source>',
      'take a field from one of another name, or from app.model.field of a model that refers to users by `user`',
      readMapping,
      [],
    )
    .option('--drop <field>', 'leave out a field of the user model', addTo, [])
    .option(
      '--reset-unsupported-passwords',
      'import users without a password whose hash cannot be verified here',
    )
    .option('--dry-run', 'do it all and take it back')
    .option('--report <file>', 'write what is wrong with the file, or was left out, to a CSV file')
    .addHelpText('after', HELP)
    .action(async (file: string, options: ImportArguments) => {
      const config = readConfig(process.env);
      const { importDjango } = await import('./import-users.ts');
      if (!(await importDjango(config, file, options))) process.exitCode = 1;
    });
};

const addTo = (text: string, others: string[]): string[] => [...others, text];

const readMapping = (text: string, others: FieldMapping[]): FieldMapping[] => {
  const [, name, model, field = ''] = /^(\w+)=(?:(\w+\.\w+)\.)?(\w+)$/.exec(text) ?? [];
  if (name === undefined) {
    throw new InvalidArgumentError(
      'It must be like extra=restrictions or extra=accounts.profile.restrictions.',
    );
  }
  const target = USER_FIELDS.find((known) => known === name);
  if (!target) throw new InvalidArgumentError(`A user has no field ${name}, but ${USER_FIELDS.join(', ')}.`);
  return [...others, { target, source: { model: model?.toLowerCase() ?? null, field } }];
};

const readId = (text: string): number => {
  if (!/^[1-9]\d{0,9}$/.test(text) || Number(text) > MAX_ID)
    throw new InvalidArgumentError('It must be an id.');
  return Number(text);
};

/** Dumps name models in lower case. */
const readModel = (text: string): string => {
  if (!/^\w+\.\w+$/.test(text)) throw new InvalidArgumentError('It must be like auth.user.');
  return text.toLowerCase();
};
