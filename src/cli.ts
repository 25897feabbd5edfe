#!/usr/bin/env node
import { Command } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { addAdminCommands } from './cli/admin.ts';
import { addAppCommands } from './cli/apps.ts';
import { reportFailure } from './cli/failures.ts';
import { addImportCommands } from './cli/import-django.ts';
import { addInviteCommand } from './cli/invite.ts';
import { addOpenApiCommand } from './cli/openapi.ts';
import { addServiceCommands } from './cli/service.ts';
import { addUsageCommands } from './cli/usage.ts';

const program = new Command('steward')
  .description(`${manifest.description}\nSettings are environment variables: see the README.`)
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
