import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { readConfig } from '../config/config.ts';
import { formatCount } from '../lib/format-count.ts';
import { addAppCommands } from './apps.ts';
import { addBackupCommands } from './backup.ts';
import { addCompletionCommand } from './completion.ts';
import { addDoctorCommand } from './doctor.ts';
import { reportFailure } from './failures.ts';
import { addImportCommand } from './import-django.ts';
import { addInviteCommand } from './invite.ts';
import { addKeyCommands } from './keys.ts';
import { addMigrateCommand } from './migrate.ts';
import { addUserCommands, readEmail } from './users.ts';

/** All commands, with their options and help. */
export const createProgram = (): Command => {
  const program = new Command('steward')
    .description(`${manifest.description}\nSettings are environment variables: see docs/settings.md.`)
    .version(manifest.version)
    .showHelpAfterError()
    .configureHelp({ showGlobalOptions: true });

  addServiceCommands(program);
  addAdminCommand(program);
  addAppCommands(program);
  addInviteCommand(program);
  addUserCommands(program);
  addKeyCommands(program);
  addImportCommand(program);
  addUsageCommand(program);
  addBackupCommands(program);
  addDoctorCommand(program);
  addOpenApiCommand(program);
  addCompletionCommand(program);
  return program;
};

/** Runs the command given by the arguments. Errors go to standard error and set the exit code. */
export const runProgram = (): Promise<unknown> => createProgram().parseAsync().catch(reportFailure);

// Commands import their modules when they run, so that help and invalid settings do not wait for the whole service.

const addServiceCommands = (program: Command): void => {
  const serviceCommand = (name: string, description: string, settings?: { demo: true }) =>
    program
      .command(name)
      .description(description)
      .action(async () => {
        const config = readConfig(process.env);
        const { serve } = await import('../main.ts');
        await serve({ ...config, ...settings });
        // An export that is retried would keep the process alive.
        if (config.tracing) process.exit();
      });
  serviceCommand('serve', 'Run the service until SIGTERM or SIGINT');
  serviceCommand('demo', 'Run the service, with the demo workspace if the database is empty', { demo: true });

  addMigrateCommand(program);
};

const ADMIN_HELP = `
The password is read from ADMIN_PASSWORD, and must satisfy the password policy. Without it, an existing password is kept; otherwise a random password is
generated and shown once.`;

const addAdminCommand = (program: Command): void => {
  program
    .command('create-admin')
    .description('Create a superuser, or promote a user')
    .argument('<email>', 'email address')
    .addHelpText('after', ADMIN_HELP)
    .action(async (argument: string) => {
      const config = readConfig(process.env);
      const email = readEmail(argument);
      const generated = randomBytes(12).toString('base64url');

      const { createAdminAccount } = await import('./database-work.ts');
      const done = await createAdminAccount(config, email, generated);
      const password = {
        kept: 'The password was kept. To change it, set ADMIN_PASSWORD and run the command again.',
        set: 'The password is that of ADMIN_PASSWORD.',
        changed:
          'The password was changed to that of ADMIN_PASSWORD. All sessions and tokens of the account have ended.',
        generated: `Password (shown only once): ${generated}`,
      };
      process.stdout.write(`${email} is a superuser.\n${password[done]}\n`);
    });
};

const addUsageCommand = (program: Command): void => {
  program
    .command('usage')
    .description('Maintain the usage log')
    .command('rebuild')
    .description('Recompute usage totals (safe while running)')
    .option('--app <slug>', 'recompute only this app')
    .action(async ({ app }: { app?: string }) => {
      const config = readConfig(process.env);
      const { rebuildAllUsage } = await import('./database-work.ts');
      const count = await rebuildAllUsage(config, app);
      process.stdout.write(`Recomputed the usage of ${formatCount(count, 'app')}.\n`);
    });
};

const addOpenApiCommand = (program: Command): void => {
  program
    .command('openapi')
    .description('Print the OpenAPI document of the REST interface')
    .action(async () => {
      const { openApiDocument } = await import('../http/openapi/document.ts');
      console.log(JSON.stringify(openApiDocument(manifest.version), null, 2));
    });
};
