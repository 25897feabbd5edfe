import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';

const ROTATE_HELP = `
The new key is published at once and signs after 330 seconds, when every cache has it. The old one stays published until
its last ticket has expired.`;

export const addKeyCommands = (program: Command): void => {
  const keys = program.command('keys').description('List and replace the keys that sign tickets');

  keys
    .command('list')
    .description('List the keys, newest first')
    .option('--json', 'print a JSON array instead of lines')
    .action(async ({ json = false }: { json?: boolean }) => {
      const config = readConfig(process.env);
      const { formatKeys, listKeys } = await import('./signing-keys.ts');
      const found = await listKeys(config);
      process.stdout.write(json ? `${JSON.stringify(found, null, 2)}\n` : formatKeys(found));
    });

  keys
    .command('rotate')
    .description('Replace the key that signs')
    .addHelpText('after', ROTATE_HELP)
    .action(async () => {
      const config = readConfig(process.env);
      const { rotateKeys } = await import('./signing-keys.ts');
      process.stdout.write(`${await rotateKeys(config)}\n`);
    });
};
