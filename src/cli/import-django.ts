import { type Command, InvalidArgumentError } from 'commander';
import { readConfig } from '../core/config.ts';

const HELP = `
FILE is what \`manage.py dumpdata auth.user --output FILE\` writes. One faulty record, and nobody is imported; users
whose address is there already stay as they are.`;

const MAX_ID = 2 ** 31 - 1;

export type ImportArguments = { client?: number; model: string; dryRun?: boolean; report?: string };

export const addImportCommands = (program: Command): void => {
  program
    .command('import-django')
    .description('bring the users of a Django service over, with their passwords')
    .argument('<file>', 'JSON file made by dumpdata')
    .option('--client <id>', 'client that they become members of', readId)
    .option('--model <label>', "the service's user model", readModel, 'auth.user')
    .option('--dry-run', 'do it all and take it back')
    .option('--report <file>', 'write what is wrong with the file, or was left out, to a CSV file')
    .addHelpText('after', HELP)
    .action(async (file: string, options: ImportArguments) => {
      const config = readConfig(process.env);
      const { importDjango } = await import('./import-users.ts');
      if (!(await importDjango(config, file, options))) process.exitCode = 1;
    });
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
