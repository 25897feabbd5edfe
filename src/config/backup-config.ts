import { resolve } from 'node:path';
import { z } from 'zod';
import {
  type BucketServer,
  bucketServer,
  endpointAddress,
  parsePlace,
  place,
  regionName,
  type StoreLocation,
  type StoreSettings,
} from './package-store-config.ts';
import { optionalFlag, wholeNumber } from './setting-types.ts';

const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/;

const Settings = z.object({
  BACKUP_TARGET: place.optional().meta({
    description: 'Folder or bucket of scheduled backups: see [backup.md](backup.md#scheduled-backups)',
    valueType: '`file:FOLDER` or `s3://BUCKET/PREFIX`',
    defaultText: 'none: no backups are scheduled',
  }),
  BACKUP_INTERVAL_HOURS: wholeNumber(1, 8760, 24).describe('Hours between scheduled backups'),
  BACKUP_TIME: z.string().regex(TIME_OF_DAY, 'must be a time of day such as 03:00').default('03:00').meta({
    description: 'Time of day in UTC of a daily backup; other intervals are counted from it',
    valueType: '`HH:MM`',
  }),
  BACKUP_KEEP: wholeNumber(1, 10_000, 14).describe(
    'Number of scheduled backups that are kept; older ones are removed',
  ),
  BACKUP_KEEP_DAYS: wholeNumber(0, 36_500, 0).describe(
    'Days for which every scheduled backup is kept, in addition to `BACKUP_KEEP`',
  ),
  BACKUP_PASSPHRASE: z.string().optional().meta({
    description: 'Encrypts the secret key in a backup. Scheduled backups hold the key if this is set',
    valueType: 'string',
    defaultText: 'none',
  }),
  BACKUP_ENDPOINT: endpointAddress.optional().meta({
    description: 'URL of the S3 server of backups, if it is not AWS',
    defaultText: '`APP_STORE_ENDPOINT`, else `AWS_ENDPOINT_URL_S3`, else AWS',
  }),
  BACKUP_REGION: regionName.optional().meta({
    description: 'Region of the bucket of backups',
    defaultText: '`APP_STORE_REGION`, else `AWS_REGION`, else `us-east-1`',
  }),
  BACKUP_PATH_STYLE: optionalFlag.meta({
    description: '`1` puts the bucket name of backups into the path, `0` into the host name',
    valueType: '`1` or `0`',
    defaultText: '`APP_STORE_PATH_STYLE`, else `1` with an endpoint, else `0`',
  }),
});

export const backupSettings = Settings.shape;

export type BackupConfig = ReturnType<typeof backupConfigOf>;

export const backupConfigOf = (read: StoreSettings & z.output<typeof Settings>) => {
  const server = bucketServer(read, {
    endpoint: read.BACKUP_ENDPOINT ?? read.APP_STORE_ENDPOINT,
    region: read.BACKUP_REGION ?? read.APP_STORE_REGION,
    pathStyle: read.BACKUP_PATH_STYLE ?? read.APP_STORE_PATH_STYLE,
  });
  const [, hours, minutes] = TIME_OF_DAY.exec(read.BACKUP_TIME) ?? [];
  return {
    /** Null: no backups are scheduled. */
    target: read.BACKUP_TARGET ? located(read.BACKUP_TARGET, server) : null,
    /** Of buckets that a command names. */
    server,
    intervalHours: read.BACKUP_INTERVAL_HOURS,
    /** Minutes after midnight UTC. */
    startMinute: Number(hours) * 60 + Number(minutes),
    keep: read.BACKUP_KEEP,
    keepDays: read.BACKUP_KEEP_DAYS,
    passphrase: read.BACKUP_PASSPHRASE,
  };
};

const located = (named: NonNullable<ReturnType<typeof parsePlace>>, server: BucketServer): StoreLocation =>
  named.kind === 'folder' ? named : { ...named, ...server };

/** The folder or bucket that a command names: a path, `file:FOLDER` or `s3://BUCKET/PREFIX`; null if it is invalid. */
export const locateBackups = (text: string, { server }: BackupConfig): StoreLocation | null => {
  const named = /^(file:|s3:)/.test(text)
    ? parsePlace(text)
    : { kind: 'folder' as const, dir: resolve(text) };
  return named && located(named, server);
};
