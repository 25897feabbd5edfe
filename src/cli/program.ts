import { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { readConfig } from '../config/config.ts';
import type { Finding } from '../doctor/finding.ts';
import { formatCount } from '../lib/operator-text.ts';
import { addAppCommands } from './apps.ts';
import { reportFailure } from './failures.ts';
import { addPeopleCommands, readEmail } from './people.ts';
import { printLines, runWork, toJson } from './run-work.ts';

export const createProgram = (): Command => {
  const program = new Command('steward')
    .description(`${manifest.description}\nSettings are environment variables: see docs/settings.md.`)
    .version(manifest.version)
    .showHelpAfterError()
    .configureHelp({ showGlobalOptions: true });

  addServiceCommands(program);
  addMigrateCommand(program);
  addAdminCommand(program);
  addAppCommands(program);
  addPeopleCommands(program);
  addUsageCommand(program);
  addBackupCommands(program);
  addDoctorCommand(program);
  addOpenApiCommand(program);
  return program;
};

/** Runs the command given by the arguments. Errors go to standard error and set the exit code. */
export const runProgram = (): Promise<unknown> => createProgram().parseAsync().catch(reportFailure);

const loadDatabaseWork = () => import('./database-work.ts');
const loadBackups = () => import('./backups.ts');

const addServiceCommands = (program: Command): void => {
  const serviceCommand = (name: string, description: string, settings?: { demo: true }) =>
    program
      .command(name)
      .description(description)
      .action(async () => {
        const config = readConfig(process.env);
        const { serve } = await import('../main.ts');
        await serve({ ...config, ...settings });
        // Otherwise, the retries of an export would keep the process alive.
        if (config.tracing) process.exit();
      });
  serviceCommand('serve', 'Run the service until SIGTERM or SIGINT');
  serviceCommand('demo', 'Run the service, with the demo workspace if the database is empty', { demo: true });
};

const MIGRATE_HELP = `
--dry-run changes nothing, and can run while the service runs. It lists the locks that each migration takes on existing
tables, with their estimated sizes.`;

const addMigrateCommand = (program: Command): void => {
  program
    .command('migrate')
    .description('Apply pending migrations and exit')
    .option('--dry-run', 'list pending migrations and their locks without applying them')
    .addHelpText('after', MIGRATE_HELP)
    .action(({ dryRun = false }: { dryRun?: boolean }) =>
      runWork(loadDatabaseWork, ({ migrate, previewOf }, config) => (dryRun ? previewOf : migrate)(config)),
    );
};

const ADMIN_HELP = `
The password is read from ADMIN_PASSWORD, and must satisfy the password policy. Without it, an existing password is kept; otherwise a random password is
generated and shown once.`;

const addAdminCommand = (program: Command): void => {
  program
    .command('create-admin')
    .description('Create a superuser, or promote a user')
    .argument('<email>', 'email address', readEmail)
    .addHelpText('after', ADMIN_HELP)
    .action((email: string) =>
      runWork(loadDatabaseWork, ({ createAdminAccount }, config) => createAdminAccount(config, email)),
    );
};

const addUsageCommand = (program: Command): void => {
  program
    .command('usage')
    .description('Maintain the usage log')
    .command('rebuild')
    .description('Recompute usage totals (safe while running)')
    .option('--app <slug>', 'recompute only this app')
    .action(({ app }: { app?: string }) =>
      runWork(loadDatabaseWork, ({ rebuildAllUsage }, config) => rebuildAllUsage(config, app)),
    );
};

const BACKUP_ARGUMENT =
  'file, or s3://BUCKET/PREFIX/NAME.tar; of a folder or s3://BUCKET/PREFIX, its newest backup';

const BACKUP_HELP = `
The service may run: the backup holds one consistent snapshot of the database, and the packages of APP_STORE.
With --with-key it also holds the secret key, encrypted with BACKUP_PASSPHRASE. Without the key, restored links
in mails and stored responses are not valid, unless the new service has the same SECRET_KEY.`;

const RESTORE_HELP = `
Restores into an empty database: the one of DATABASE_URL, or a new one in DATA_DIR. Set BACKUP_PASSPHRASE if the backup
holds the secret key: it is written to DATA_DIR, or with DATABASE_URL to the file that --key-file names. Its content
is the SECRET_KEY of the restored service. Without the key that opens the data, the command refuses, unless with --new-key.`;

const addBackupCommands = (program: Command): void => {
  const backup = program
    .command('backup')
    .description('Write a backup to a folder or an S3 bucket')
    .argument('[target]', 'folder or s3://BUCKET/PREFIX (default: BACKUP_TARGET)')
    .option('--with-key', 'include the secret key, encrypted with BACKUP_PASSPHRASE')
    .addHelpText('after', BACKUP_HELP)
    .action((target: string | undefined, { withKey = false }: { withKey?: boolean }) =>
      runWork(loadBackups, ({ createBackupFile }, config) => createBackupFile(config, target, withKey)),
    );

  backup
    .command('verify')
    .description('Restore a backup into a temporary database and compare it with the snapshot')
    .argument('<backup>', BACKUP_ARGUMENT)
    .action((file: string) => runWork(loadBackups, ({ verifyBackup }, config) => verifyBackup(config, file)));

  program
    .command('restore')
    .description('Restore a backup into an empty database')
    .argument('<backup>', BACKUP_ARGUMENT)
    .option('--key-file <file>', 'file to create with the secret key of the backup')
    .option('--new-key', 'restore although the key of the old service is not there')
    .addHelpText('after', RESTORE_HELP)
    .action((file: string, options: { keyFile?: string; newKey?: boolean }) =>
      runWork(loadBackups, ({ restoreFile }, config) => restoreFile(config, file, options), {
        needsKey: false,
      }),
    );
};

const DOCTOR_HELP = `
Reads the settings of the service from the environment. It changes nothing, sends no mail, and can run while the service runs.
The exit code is 1 if there is a failure.`;

const MARKS = { ok: 'ok     ', warning: 'WARNING', failure: 'FAILURE' } as const;

const addDoctorCommand = (program: Command): void => {
  program
    .command('doctor')
    .description('Check settings, database, mail server, package store and public address')
    .option('--json', 'print a JSON array instead of lines')
    .addHelpText('after', DOCTOR_HELP)
    .action(async ({ json = false }: { json?: boolean }) => {
      const { runChecks } = await import('../doctor/run-checks.ts');
      const findings = await runChecks(process.env);
      printLines(json ? toJson(findings) : formatFindings(findings));
      if (findings.some(({ status }) => status === 'failure')) process.exitCode = 1;
    });
};

const formatFindings = (findings: readonly Finding[]): string[] => {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.map(
    ({ status, check, message, action }) =>
      `${MARKS[status]}  ${check.padEnd(width)}  ${message}${action === null ? '' : ` → ${action}`}`,
  );
  const count = (wanted: Finding['status']): string =>
    formatCount(findings.filter(({ status }) => status === wanted).length, wanted);
  return [...lines, `${count('failure')}, ${count('warning')}.`];
};

const addOpenApiCommand = (program: Command): void => {
  program
    .command('openapi')
    .description('Print the OpenAPI document of the REST interface')
    .action(async () => {
      const { openApiDocument } = await import('../http/openapi/document.ts');
      printLines(toJson(openApiDocument(manifest.version)));
    });
};
