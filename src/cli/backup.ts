import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';

/** Loaded by the commands that need it, to keep `--help` fast. */
const loadBackups = () => import('./backups.ts');

const BACKUP_ARGUMENT =
  'file, or s3://BUCKET/PREFIX/NAME.tar; of a folder or s3://BUCKET/PREFIX, its newest backup';

const BACKUP_HELP = `
The service may run: the backup holds one consistent snapshot of the database, and the packages of APP_STORE.
With --with-key it also holds the secret key, encrypted with BACKUP_PASSPHRASE. Without the key, restored links
in mails and stored responses are not valid, unless the new service has the same SECRET_KEY.`;

const RESTORE_HELP = `
Restores into an empty database: that of DATABASE_URL, or a new one in DATA_DIR. Set BACKUP_PASSPHRASE if the backup
holds the secret key: it is written to DATA_DIR, or with DATABASE_URL to the file that --key-file names. Its content
is the SECRET_KEY of the restored service.`;

export const addBackupCommands = (program: Command): void => {
  const backup = program
    .command('backup')
    .description('Write a backup to a folder or an S3 bucket')
    .argument('[target]', 'folder or s3://BUCKET/PREFIX (default: BACKUP_TARGET)')
    .option('--with-key', 'include the secret key, encrypted with BACKUP_PASSPHRASE')
    .addHelpText('after', BACKUP_HELP)
    .action(async (target: string | undefined, { withKey = false }: { withKey?: boolean }) => {
      const config = readConfig(process.env);
      const { createBackupFile } = await loadBackups();
      const lines = await createBackupFile(config, target, withKey);
      process.stdout.write(`${lines.join('\n')}\n`);
    });

  backup
    .command('verify')
    .description('Restore a backup into a temporary database and compare it with the snapshot')
    .argument('<backup>', BACKUP_ARGUMENT)
    .action(async (file: string) => {
      const config = readConfig(process.env);
      const { verifyBackup } = await loadBackups();
      process.stdout.write(`${await verifyBackup(config, file)}\n`);
    });

  program
    .command('restore')
    .description('Restore a backup into an empty database')
    .argument('<backup>', BACKUP_ARGUMENT)
    .option('--key-file <file>', 'file to create with the secret key of the backup')
    .addHelpText('after', RESTORE_HELP)
    .action(async (file: string, { keyFile }: { keyFile?: string }) => {
      const config = readConfig(process.env, { needsKey: false });
      const { restoreFile } = await loadBackups();
      const lines = await restoreFile(config, file, keyFile);
      process.stdout.write(`${lines.join('\n')}\n`);
    });
};
