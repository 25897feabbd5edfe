import { resolve } from 'node:path';
import { DAY_MS } from '../lib/clock.ts';
import { hasPasskeys } from '../lib/urls.ts';
import { PUBLISHED_DEMO_PASSWORD, Settings } from './settings.ts';
import { sinkConfigOf } from './sink-config.ts';
import { appStoreOf, backupConfigOf } from './store-config.ts';
import { tracingConfigOf, withoutUnusedTracing } from './tracing-config.ts';

/** An empty setting (`SMTP_URL=`) counts as absent, because container platforms cannot unset a variable. */
const present = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => !!entry[1]));

/** Invalid settings, with one line for each. Lines never contain values. */
export class InvalidSettings extends Error {
  readonly lines: string[];

  constructor(lines: string[]) {
    super(lines.join('\n'));
    this.name = 'InvalidSettings';
    this.lines = lines;
  }
}

/**
 * @param needsKey false for a restore, which may bring the secret key
 * @throws InvalidSettings
 */
export const readConfig = (env: NodeJS.ProcessEnv, { needsKey = true } = {}) => {
  const settings = Settings.safeParse(withoutUnusedTracing(present(env)));
  const issues = settings.error?.issues ?? [];
  const lines = issues.map(({ path, message }) => `${String(path[0])}: ${message}`);
  if (needsKey && env.DATABASE_URL && !env.SECRET_KEY)
    lines.push('SECRET_KEY: is required with DATABASE_URL');
  // No superuser could log in.
  if (settings.data?.STAFF_SECOND_FACTOR === 'passkey' && !hasPasskeys(new URL(baseUrlOf(settings.data))))
    lines.push('STAFF_SECOND_FACTOR: passkey needs a BASE_URL with https and a host name, or localhost');
  if (
    settings.data &&
    Boolean(settings.data.EVENT_CERTIFICATE_FILE) !== Boolean(settings.data.EVENT_KEY_FILE)
  )
    lines.push('EVENT_CERTIFICATE_FILE: needs EVENT_KEY_FILE, and the other way round');
  if (!settings.success || lines.length > 0) throw new InvalidSettings(lines);

  const read = settings.data;
  const dataDir = resolve(read.DATA_DIR);
  return {
    port: read.PORT,
    host: read.HOST,
    // As browsers send it: in ASCII, without the default port.
    baseUrl: new URL(baseUrlOf(read)).href.replace(/\/+$/, ''),
    workers: read.WORKERS,
    metricsPort: read.METRICS_PORT,
    metricsHost: read.METRICS_HOST,
    metricsToken: read.METRICS_TOKEN,
    trustedProxies: read.TRUST_PROXY,
    /** Template with `{slug}` or `{id}`. Default: the app in the API. */
    appUrl: read.APP_URL ?? '/api/v1/jb/apps/{id}/',
    corsOrigins: read.CORS_ORIGINS,
    rateLimitPerMinute: read.RATE_LIMIT_PER_MINUTE,
    /** Absent: the embedded database under `dataDir`. */
    database: read.DATABASE_URL,
    preparesStatements: read.PREPARED_STATEMENTS,
    dataDir,
    secretKey: read.SECRET_KEY,
    adminEmail: read.ADMIN_EMAIL.toLowerCase(),
    adminPassword: read.ADMIN_PASSWORD,
    demo: read.DEMO,
    demoPassword: read.DEMO_PASSWORD,
    /** The password in the documentation is not a secret. */
    hasPublishedDemoPassword: read.DEMO_PASSWORD === PUBLISHED_DEMO_PASSWORD,
    tokenIdleDays: read.TOKEN_IDLE_DAYS,
    sessionMaxDays: read.SESSION_MAX_DAYS,
    dnsServers: read.DNS_SERVERS,
    ssoPrivateNetworks: read.SSO_PRIVATE_NETWORKS,
    webhookPrivateNetworks: read.WEBHOOK_PRIVATE_NETWORKS,
    ticketSeconds: read.TICKET_SECONDS,
    signingKeyDays: read.SIGNING_KEY_DAYS,
    staffSecondFactor: read.STAFF_SECOND_FACTOR,
    passwordMinLength: read.PASSWORD_MIN_LENGTH,
    invitationMs: read.INVITATION_DAYS * DAY_MS,
    usageRetentionDays: read.USAGE_RETENTION_DAYS,
    auditRetentionDays: read.AUDIT_RETENTION_DAYS,
    invitationRetentionDays: read.INVITATION_RETENTION_DAYS,
    accessRequestRetentionDays: read.ACCESS_REQUEST_RETENTION_DAYS,
    idempotencyHours: read.IDEMPOTENCY_RETENTION_HOURS,
    mailRetentionDays: read.MAIL_RETENTION_DAYS,
    /** Absent: mails are stored but not sent. */
    mailServerUrl: read.SMTP_URL,
    mailFrom: read.MAIL_FROM ?? `steward@${hostOf(read.BASE_URL)}`,
    mailPerMinute: read.MAIL_PER_MINUTE,
    argon2Concurrency: read.ARGON2_CONCURRENCY,
    sinks: sinkConfigOf(read),
    appStore: appStoreOf(read, dataDir),
    backup: backupConfigOf(read),
    environment: read.ENVIRONMENT,
    uploadBucketName: read.UPLOAD_BUCKET_NAME,
    logLevel: read.LOG_LEVEL,
    logFormat: read.LOG_FORMAT,
    /** null: no traces. */
    tracing: tracingConfigOf(read),
  };
};

const baseUrlOf = ({ BASE_URL: url, PORT: port }: { BASE_URL?: string | undefined; PORT: number }): string =>
  url ?? `http://localhost:${port}`;

const hostOf = (baseUrl = 'http://localhost'): string => new URL(baseUrl).hostname;

/** `settings.ts` describes what its fields mean. */
export type Config = ReturnType<typeof readConfig>;
