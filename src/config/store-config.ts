import { resolve } from 'node:path';
import { z } from 'zod';
import { optionalFlag, parsedText, wholeNumber } from './setting-types.ts';

type Folder = { kind: 'folder'; dir: string };

/** `prefix` has no slash at either end, and may be empty. */
type BucketPart = { kind: 's3'; bucket: string; prefix: string };

/** How to reach a bucket. */
type BucketServer = {
  /** Absent: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or AWS. */
  endpoint: string | undefined;
  region: string;
  /** `endpoint/bucket/key` instead of `bucket.endpoint/key` */
  pathStyle: boolean;
};

/** A folder, or a prefix of a bucket. */
export type StoreLocation = Folder | (BucketPart & BucketServer);

/** Bucket names follow AWS. Prefixes contain only characters that servers and proxies do not rewrite. */
const S3_FORM = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[\w.-]+)*)\/?$/;
const DOTS_ONLY = /\/\.\.?(\/|$)/;
/** Keys have at most 1,024 bytes, and the file name of a package fewer than 256. */
const PREFIX_LENGTH = 512;
/** AWS forbids bucket names that look like IP addresses: clients would use them as hosts. */
const ADDRESS = /^\d+(\.\d+){3}$/;

const parsePlace = (text: string): Folder | BucketPart | null =>
  text.startsWith('file:') ? parseFolder(text.slice('file:'.length)) : parseBucket(text);

const parseFolder = (dir: string): Folder | null =>
  dir.trim() === '' ? null : { kind: 'folder', dir: resolve(dir) };

const parseBucket = (text: string): BucketPart | null => {
  const [, bucket = '', prefix = ''] = S3_FORM.exec(text) ?? [];
  if (bucket === '' || bucket.includes('..') || ADDRESS.test(bucket)) return null;
  if (prefix.length > PREFIX_LENGTH || DOTS_ONLY.test(prefix)) return null;
  return { kind: 's3', bucket, prefix: prefix.slice(1) };
};

const place = parsedText(
  (text, fail) =>
    parsePlace(text) ?? fail('must be file:FOLDER, or s3://BUCKET/PREFIX of letters, digits, dots, hyphens'),
);

const isPlainAddress = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && url.username + url.password + url.search + url.hash === '';
};

const endpointAddress = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL', abort: true })
  .refine(isPlainAddress, 'must not hold a user, a password or a query');

const regionName = z.string().regex(/^[a-zA-Z0-9-]{1,63}$/, 'must be the name of a region');

const AppStoreSettings = z.object({
  APP_STORE: place.optional().meta({
    description: 'Package store of apps: see [app-packages.md](app-packages.md)',
    valueType: '`file:FOLDER` or `s3://BUCKET/PREFIX`',
    defaultText: '`file:DATA_DIR/packages`',
  }),
  APP_STORE_ENDPOINT: endpointAddress.optional().meta({
    description: 'URL of an S3 server other than AWS',
    defaultText: '`AWS_ENDPOINT_URL_S3`, else AWS',
  }),
  APP_STORE_REGION: regionName
    .optional()
    .meta({ description: 'Region of the bucket', defaultText: '`AWS_REGION`, else `us-east-1`' }),
  APP_STORE_PATH_STYLE: optionalFlag.meta({
    description: '`1` puts the bucket name into the path, `0` into the host name',
    valueType: '`1` or `0`',
    defaultText: '`1` with an endpoint, else `0`',
  }),
  // The AWS client validates its own settings; they are not part of docs/settings.md.
  AWS_REGION: z.string().optional(),
  AWS_DEFAULT_REGION: z.string().optional(),
  AWS_ENDPOINT_URL: z.string().optional(),
  AWS_ENDPOINT_URL_S3: z.string().optional(),
});

type StoreSettings = z.output<typeof AppStoreSettings>;

export const storeSettings = AppStoreSettings.shape;

export const appStoreOf = (read: StoreSettings, dataDir: string): StoreLocation => {
  const named = read.APP_STORE ?? { kind: 'folder' as const, dir: resolve(dataDir, 'packages') };
  return located(named, bucketServer(read));
};

const bucketServer = (read: StoreSettings): BucketServer => ({
  endpoint: read.APP_STORE_ENDPOINT,
  region: read.APP_STORE_REGION ?? read.AWS_REGION ?? read.AWS_DEFAULT_REGION ?? 'us-east-1',
  // Few servers other than AWS have a host name and a certificate for each bucket.
  pathStyle:
    read.APP_STORE_PATH_STYLE ??
    Boolean(read.APP_STORE_ENDPOINT ?? read.AWS_ENDPOINT_URL_S3 ?? read.AWS_ENDPOINT_URL),
});

const located = (named: Folder | BucketPart, server: BucketServer): StoreLocation =>
  named.kind === 'folder' ? named : { ...named, ...server };

const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/;

const BackupSettings = z.object({
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

export const backupSettings = BackupSettings.shape;

type BackupConfig = ReturnType<typeof backupConfigOf>;

export const backupConfigOf = (read: StoreSettings & z.output<typeof BackupSettings>) => {
  const server = bucketServer({
    ...read,
    APP_STORE_ENDPOINT: read.BACKUP_ENDPOINT ?? read.APP_STORE_ENDPOINT,
    APP_STORE_REGION: read.BACKUP_REGION ?? read.APP_STORE_REGION,
    APP_STORE_PATH_STYLE: read.BACKUP_PATH_STYLE ?? read.APP_STORE_PATH_STYLE,
  });
  const [, hours, minutes] = TIME_OF_DAY.exec(read.BACKUP_TIME) ?? [];
  return {
    /** Null: no backups are scheduled. */
    target: read.BACKUP_TARGET ? located(read.BACKUP_TARGET, server) : null,
    /** For buckets that a command names. */
    server,
    intervalHours: read.BACKUP_INTERVAL_HOURS,
    /** Minutes after midnight UTC. */
    startMinute: Number(hours) * 60 + Number(minutes),
    keep: read.BACKUP_KEEP,
    keepDays: read.BACKUP_KEEP_DAYS,
    passphrase: read.BACKUP_PASSPHRASE,
  };
};

/** The folder or bucket that a command names: a path, `file:FOLDER` or `s3://BUCKET/PREFIX`; null if it is invalid. */
export const locateBackups = (text: string, { server }: BackupConfig): StoreLocation | null => {
  const named = /^(file:|s3:)/.test(text)
    ? parsePlace(text)
    : { kind: 'folder' as const, dir: resolve(text) };
  return named && located(named, server);
};
