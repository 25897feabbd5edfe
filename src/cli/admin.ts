import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { z } from 'zod';
import { readConfig } from '../core/config.ts';
import { invalid } from '../core/problems.ts';

const HELP = `
The password is read from ADMIN_PASSWORD. Without it one is made and shown once.
With the embedded database the service must not be running on the same DATA_DIR.`;

export const addAdminCommands = (program: Command): void => {
  program
    .command('create-admin')
    .description('make a superuser, or make one of an existing user')
    .argument('<email>', 'email address')
    .addHelpText('after', HELP)
    .action(async (argument: string) => {
      const config = readConfig(process.env);
      const email = readEmail(argument);
      const password = config.adminPassword ?? randomBytes(12).toString('base64url');

      const { makeAdmin } = await import('./make-admin.ts');
      await makeAdmin(config, email, password);
      process.stdout.write(`${email} is a superuser.\n`);
      if (!config.adminPassword) process.stdout.write(`Its password, shown this once: ${password}\n`);
    });
};

const readEmail = (text: string): string => {
  const email = z.email({ pattern: z.regexes.html5Email }).max(254).toLowerCase().safeParse(text);
  if (!email.success) throw invalid({ email: ['Must be an email address.'] });
  return email.data;
};
