import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { MAX_TICKET_SECONDS } from '../lib/ticket-claims.ts';
import { originList } from '../lib/urls.ts';
import {
  appUrl,
  databaseUrl,
  emailAddress,
  flag,
  httpUrl,
  listenAddress,
  mailServerUrl,
  nameServers,
  trustedProxies,
  wholeNumber,
} from './setting-types.ts';
import { sinkSettings } from './sink-config.ts';
import { backupSettings, storeSettings } from './store-config.ts';
import { tracingSettings } from './tracing-config.ts';

/** The documentation contains it. */
export const PUBLISHED_DEMO_PASSWORD = 'steward-demo-1';

/**
 * Every setting. `npm run docs` writes the table of docs/settings.md from the metadata: `description`, and, where the schema does not
 * determine them, `valueType` and `defaultText`.
 */
export const Settings = z.object({
  PORT: wholeNumber(0, 65_535, 8000).describe('Port to listen on; `0` picks a free port'),
  HOST: listenAddress.meta({ description: 'Address to listen on', valueType: 'IP address or host name' }),
  WORKERS: wholeNumber(1, 64, 1).describe(
    'Number of processes that serve requests: see [workers.md](workers.md)',
  ),
  METRICS_PORT: wholeNumber(0, 65_535, 0).describe(
    'Port of `GET /metrics` for Prometheus; `0` serves no metrics: see [metrics.md](metrics.md)',
  ),
  METRICS_HOST: listenAddress.meta({
    description: 'Address on which the metrics are served: one that only Prometheus reaches',
    valueType: 'IP address or host name',
  }),
  METRICS_TOKEN: z
    .string()
    .regex(/^[\w.~+/=-]{16,512}$/, 'must have 16 to 512 letters, digits or characters of -._~+/=')
    .optional()
    .meta({
      description: 'Bearer token that Prometheus must send; without this setting, the metrics need none',
      valueType: 'string of 16 characters or more',
      defaultText: 'none',
    }),
  BASE_URL: httpUrl.optional().meta({
    description: 'Public URL of the service, used in links and in page headers; passkeys belong to its host',
    defaultText: '`http://localhost:PORT`',
  }),
  TRUST_PROXY: trustedProxies.meta({
    description:
      'Reverse proxies whose `X-Forwarded-*` headers are trusted. Required behind a proxy that changes `Host`: otherwise forms are refused',
    valueType: 'number of proxies, or their IP addresses',
    defaultText: 'none',
  }),
  APP_URL: appUrl.optional().meta({
    description: 'Template of the URL of apps that have no `launch_url`',
    valueType: 'URL or path with `{slug}` or `{id}`',
    defaultText: '`/api/v1/jb/apps/{id}/`',
  }),
  CORS_ORIGINS: originList.default([]).meta({
    description:
      'Other sites whose scripts may call the API with a token: see [http.md](http.md#cross-origin-requests)',
    valueType: 'origins separated by commas, or `*`',
    defaultText: 'none',
  }),
  RATE_LIMIT_PER_MINUTE: wholeNumber(0, 10_000_000, 0).describe(
    'Requests that each token, session or IP address may make in a minute at each instance; `0` disables the limit',
  ),
  DATABASE_URL: databaseUrl.optional().meta({
    description: 'PostgreSQL server to use: see [database.md](database.md)',
    valueType: 'PostgreSQL connection URI',
    defaultText: 'the embedded database',
  }),
  PREPARED_STATEMENTS: flag(true).describe(
    '`0` disables named prepared statements, for PgBouncer before 1.21 in transaction mode: see [database.md](database.md#behind-pgbouncer)',
  ),
  DATA_DIR: z.string().default('.steward').meta({
    description: 'Folder of the embedded database, the secret key, packages and compiled code',
    valueType: 'folder',
  }),
  SECRET_KEY: z.string().min(32, 'must have at least 32 characters').optional().meta({
    description:
      'Key that signs links and CSRF tokens and encrypts stored responses, the keys of tickets and the secrets of authenticator apps; required with `DATABASE_URL`',
    valueType: 'string of 32 characters or more',
    defaultText: 'generated once, kept in `DATA_DIR/secret-key`',
  }),
  ADMIN_EMAIL: emailAddress
    .default('admin@localhost')
    .describe('Email address of the first superuser, created when the database has none'),
  ADMIN_PASSWORD: z.string().min(8, 'must have at least 8 characters').optional().meta({
    description: 'Password of the first superuser, and for `create-admin`. It must not be a common one',
    valueType: 'string of 8 characters or more',
    defaultText: 'random, printed once',
  }),
  DEMO: flag(false).describe('`1` fills an empty database with demo data'),
  DEMO_PASSWORD: z
    .string()
    .min(8, 'must have at least 8 characters')
    .default(PUBLISHED_DEMO_PASSWORD)
    .meta({ description: 'Password of all demo accounts', valueType: 'string of 8 characters or more' }),
  TOKEN_IDLE_DAYS: wholeNumber(0, 36_500, 90).describe(
    'Days without use after which an API token expires; `0` means never',
  ),
  SESSION_MAX_DAYS: wholeNumber(1, 400, 30).describe(
    'Maximum lifetime of a browser session in days; a session also ends after 14 days without use',
  ),
  DNS_SERVERS: nameServers.meta({
    description: 'Name servers that are asked for the proofs of domains: see [sso.md](sso.md)',
    valueType: 'IP addresses separated by commas, each with or without a port',
    defaultText: 'those of the system',
  }),
  SSO_PRIVATE_NETWORKS: flag(false).describe(
    '`1` allows identity providers in private networks, and with `http://`: see [sso.md](sso.md)',
  ),
  WEBHOOK_PRIVATE_NETWORKS: flag(false).describe(
    '`1` allows webhooks and logouts of apps to addresses in private networks, and with `http://`: see [webhooks.md](webhooks.md) and [oidc.md](oidc.md)',
  ),
  TICKET_SECONDS: wholeNumber(60, MAX_TICKET_SECONDS, 120).describe(
    'Lifetime of a ticket, with which an app knows who opens it, and of access tokens: see [tickets.md](tickets.md) and [oidc.md](oidc.md)',
  ),
  SIGNING_KEY_DAYS: wholeNumber(1, 3650, 90).describe(
    'Age in days at which keys that sign tickets, and tokens of OpenID Connect, are replaced',
  ),
  STAFF_SECOND_FACTOR: z
    .enum(['off', 'optional', 'required', 'passkey'])
    .default('optional')
    .describe(
      'Whether superusers and staff log in with a second factor: `optional` recommends it in the console, `required` makes those without one set it up at their next login, and `passkey` those without a passkey: it demands to have one, not to use it, so that a code still logs them in. It needs a `BASE_URL` for which browsers have passkeys. See [sign-in.md](sign-in.md#require-second-factors)',
    ),
  INVITATION_DAYS: wholeNumber(1, 3650, 14).describe(
    'Days that an invitation link is valid, counted from its last mail',
  ),
  USAGE_RETENTION_DAYS: wholeNumber(1, 36_500, 400).describe(
    'Days that usage entries are kept; older ones are removed by whole months. Entries older than this are refused',
  ),
  AUDIT_RETENTION_DAYS: wholeNumber(0, 36_500, 0).describe(
    'Days that entries of the audit trail are kept; `0` keeps them forever',
  ),
  INVITATION_RETENTION_DAYS: wholeNumber(0, 36_500, 0).describe(
    'Days that invitations are kept after they were accepted, revoked or expired; `0` keeps them forever',
  ),
  ACCESS_REQUEST_RETENTION_DAYS: wholeNumber(0, 36_500, 0).describe(
    'Days that requests for apps are kept after they were decided, withdrawn or closed; `0` keeps them forever',
  ),
  IDEMPOTENCY_RETENTION_HOURS: wholeNumber(1, 720, 24).describe(
    'Hours that responses to requests with an `Idempotency-Key` are stored and repeated',
  ),
  SMTP_URL: mailServerUrl.optional().meta({
    ...mailServerUrl.meta(),
    description:
      'Mail server. Passwords are sent over TLS only. Without this setting, mails are stored and not sent',
    defaultText: 'none',
  }),
  MAIL_FROM: emailAddress.optional().meta({
    description: 'Sender of mails for clients without a `default_from_email`',
    defaultText: '`steward@` and the host of `BASE_URL`',
  }),
  MAIL_PER_MINUTE: wholeNumber(0, 1_000_000, 0).describe(
    'Mails that each instance sends in a minute; `0` disables the limit',
  ),
  MAIL_RETENTION_DAYS: wholeNumber(1, 36_500, 30).describe('Days that sent and failed mails are kept'),
  PASSWORD_MIN_LENGTH: wholeNumber(8, 128, 8).describe(
    'Characters that every password has, also in clients whose `password_min_length` is smaller',
  ),
  ARGON2_CONCURRENCY: wholeNumber(1, 64, availableParallelism()).meta({
    description: 'Passwords hashed at the same time',
    defaultText: 'number of cores',
  }),
  ...sinkSettings,
  ...storeSettings,
  ...backupSettings,
  ENVIRONMENT: z
    .string()
    .max(255)
    .default('development')
    .describe('`environment` in the response of `/jb/env/`'),
  UPLOAD_BUCKET_NAME: z
    .string()
    .max(255)
    .default('steward-uploads')
    .describe('`upload_bucket_name` in the response of `/jb/env/`'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Least severe level that is logged'),
  LOG_FORMAT: z
    .enum(['text', 'json'])
    .default(process.stdout.isTTY ? 'text' : 'json')
    .meta({
      description:
        '`json` logs an object for each line, `text` one line for people, in color on a terminal unless `NO_COLOR` is set',
      defaultText: '`text` on a terminal, otherwise `json`',
    }),
  ...tracingSettings,
});
