import { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { addAdminCommands } from './admin.ts';
import { addAppCommands } from './apps.ts';
import { reportFailure } from './failures.ts';
import { addImportCommands } from './import-django.ts';
import { addInviteCommand } from './invite.ts';
import { addOpenApiCommand } from './openapi.ts';
import { addServiceCommands } from './service.ts';
import { addUsageCommands } from './usage.ts';

/** Runs the command given by the arguments. Errors go to standard error and set the exit code. */
export const runProgram = async (): Promise<void> => {
  const program = new Command('steward')
    .description(`${manifest.description}\nSettings are environment variables: see docs/settings.md.`)
    .version(manifest.version)
    .showHelpAfterError()
    .configureHelp({ showGlobalOptions: true });

  addServiceCommands(program);
  addAdminCommands(program);
  addAppCommands(program);
  addInviteCommand(program);
  addImportCommands(program);
  addUsageCommands(program);
  addOpenApiCommand(program);

  await program.parseAsync().catch(reportFailure);
};
