import type { FastifyBaseLogger } from 'fastify';
import manifest from '../package.json' with { type: 'json' };
import { openBackupStore } from './adapters/backup-store/backup-store.ts';
import { createEventSinks } from './adapters/event-sinks/event-sink.ts';
import { loadCommonPasswords } from './adapters/hashing/common-passwords.ts';
import { createPasswordHasher } from './adapters/hashing/password-hasher.ts';
import type { Argon2Cost } from './adapters/hashing/password-hashes.ts';
import { createIdentityProvider } from './adapters/identity-provider/identity-provider.ts';
import { openMailer } from './adapters/mail/mailer.ts';
import { openPackageStore } from './adapters/package-store/package-store.ts';
import { createTxtReader, type ReadTxtRecords } from './adapters/txt-records.ts';
import type { Config } from './config/config.ts';
import type { Connection } from './config/connection.ts';
import { openUnlimitedSession } from './db/client.ts';
import { openDatabase } from './db/database.ts';
import { createDatabaseClock } from './db/database-clock.ts';
import type { Em } from './db/kysely.ts';
import { isReady } from './db/migrate.ts';
import { listenToDatabase } from './db/pg-listener.ts';
import { createDrain, createRequestQueues } from './http/connections.ts';
import { createServer } from './http/server.ts';
import { type Clock, HOUR_MS, MINUTE_MS } from './lib/clock.ts';
import { createGuardedFetch } from './lib/guarded-fetch.ts';
import { type Logger, withoutKnownStacks } from './lib/logger.ts';
import { Problem } from './lib/problems.ts';
import { createTimeLimit } from './lib/time-limit.ts';
import { createScheduler, type Task } from './server/scheduler.ts';
import { createAudit, EVENT_CHANNEL, NO_ORIGIN, WEBHOOK_CHANNEL } from './services/audit/audit.ts';
import { createSignedLinks } from './services/auth/signed-links.ts';
import { recheckDomains } from './services/clients/domains.ts';
import { finishErasures } from './services/data-rights/erasure.ts';
import { createDirectoryWorker } from './services/directory/apply-due.ts';
import { pruneDirectories } from './services/directory/request-log.ts';
import { createEventHub } from './services/events/event-hub.ts';
import { maintainEvents } from './services/events/event-rows.ts';
import { pruneEmbeds } from './services/gate/embeds.ts';
import { closeLooks } from './services/gate/looks.ts';
import { createSigningKeys, JWKS_MAX_AGE_SECONDS } from './services/gate/signing-keys.ts';
import { pruneTickets } from './services/gate/ticket-revocations.ts';
import { createServiceFactories } from './services/index.ts';
import { createMailWorker, MAIL_CHANNEL, MAILS_IN_FLIGHT } from './services/mail/mail-worker.ts';
import { createMailWriter } from './services/mail/mail-writer.ts';
import { createOutbox } from './services/mail/outbox.ts';
import { createLoginEnding } from './services/openid/login-ending.ts';
import { createLogoutQueue, pruneOpenid } from './services/openid/logout-queue.ts';
import { createLogoutWorker } from './services/openid/logout-sending.ts';
import { enqueuePolicyReminders } from './services/policies/factor-notices.ts';
import {
  pruneAccessRequests,
  pruneAudit,
  pruneCounts,
  pruneCredentials,
  pruneInvitations,
  pruneOperations,
  pruneResponses,
} from './services/pruning.ts';
import { runInactivity } from './services/reminders/inactivity.ts';
import { enqueueAccessReminders, enqueueInvitationReminders } from './services/reminders/reminder-mails.ts';
import { enqueueTokenReminders } from './services/reminders/token-endings.ts';
import { enqueueDigests } from './services/reminders/weekly-digest.ts';
import { pruneRemovedUsage } from './services/removals/removals.ts';
import { createSinkQueue, createSinkWorker, isAwaitedBySinks } from './services/sinks/sink-queue.ts';
import { createSharedParts, type ServiceDeps } from './services/unit-of-work.ts';
import { maintainUsage } from './services/usage/usage-months.ts';
import { pruneGrants } from './services/users/grants.ts';
import { createDeliveryQueue } from './services/webhooks/delivery-queue.ts';
import {
  createSender,
  createWebhookSecrets,
  createWebhookWorker,
  MAX_RESPONSE_BYTES,
} from './services/webhooks/webhook-sending.ts';

type AppDeps = {
  config: Config;
  connection: Connection;
  secretKey: string;
  logger: Logger;
  /** Default: the clock of the database. */
  clock?: Clock;
  /** Lower cost of password hashes, only for tests. */
  hashCost?: Argon2Cost;
  timeLimitMs?: number;
  /** Limit of one request to an identity provider. */
  providerTimeoutMs?: number;
  /** Default: asks the name servers. */
  readTxtRecords?: ReadTxtRecords;
  /** How long a request waits for an erasure to finish. */
  erasurePatienceMs?: number;
};

export type App = Awaited<ReturnType<typeof createApp>>;

/** Limit of a call. The limits in `SESSION_SETTINGS` depend on it. */
const TIME_LIMIT_MS = 10_000;
/** Below the usual timeouts of health probes. */
const READY_TIMEOUT_MS = 2_500;
/** Shorter than the probe: then a failed probe also discards connections that the network has cut. */
const READY_QUERY_TIMEOUT_MS = 2_000;
const ERASURE_PATIENCE_MS = 5_000;
/** The search of a long log for a person may take long. The next run continues where this one ended. */
const ERASURES_LIMIT_MS = 55 * MINUTE_MS;

/** The composition root: creates and wires all components. The database must be migrated. */
export const createApp = async (deps: AppDeps) => {
  const { config, secretKey, timeLimitMs = TIME_LIMIT_MS } = deps;
  const resources = await openResources(deps);
  const { orm, pool, logger, databaseClock, hasher, store, links, clock, signingKeys, eventHub } = resources;
  const mail = await createMailModule(resources);
  const webhooks = createWebhookModule(resources);
  const sinkWorker = openSinkWorker(resources);
  const tasks = { mails: mail.prune, webhooks: webhooks.prune, ...maintenanceTasks(resources) };
  const scheduler = createScheduler({ logger, tasks, limits: { erasures: ERASURES_LIMIT_MS } });
  const serviceDeps = {
    ...config,
    ...resources,
    ...mail,
    ...createSharedParts(resources),
    loadCommonPasswords,
    environment: { environment: config.environment, upload_bucket_name: config.uploadBucketName },
    resumeErasures: () => scheduler.runSoon('erasures'),
    erasurePatienceMs: deps.erasurePatienceMs ?? ERASURE_PATIENCE_MS,
  };
  const logoutWorker = openLogoutWorker({ ...resources, lookUpOpening: serviceDeps.lookUpOpening });
  const { tokenUses, directoryRequests } = serviceDeps;
  const factories = createServiceFactories(orm.em, serviceDeps);
  const { openServices, inTransaction, recordUse } = factories;
  const directoryWorker = createDirectoryWorker({ clock, logger, fork: resources.fork, openServices });

  const requests = createRequestQueues();
  const server = await createServer({
    ...config,
    logger: logger satisfies FastifyBaseLogger,
    ...factories,
    secretKey,
    signingKeys,
    clock,
    version: manifest.version,
    readPublicKeys: signingKeys.ticket.publishedKeys,
    jwksMaxAgeSeconds: JWKS_MAX_AGE_SECONDS,
    timeLimitMs,
    requests,
    isAlive: () => !pool.isStuck(),
    isReady: () =>
      createTimeLimit(READY_TIMEOUT_MS).run(async () => {
        if (requests.isClosing()) throw new Problem('stopping');
        return isReady(orm, READY_QUERY_TIMEOUT_MS);
      }),
    requestsPerMinute: config.rateLimitPerMinute,
  });
  const drain = createDrain(server.server, requests, () => server.close());
  const backups = await createBackupModule(resources);

  return {
    server,
    orm,
    hasher,
    store,
    links,
    signingKeys,
    clock,
    openServices,
    inTransaction,
    recordUse,
    mailWorker: mail.worker,
    webhookWorker: webhooks.worker,
    pruneWebhooks: webhooks.prune,
    sinkWorker,
    logoutWorker,
    directoryWorker,
    /** Null: no backups are scheduled. */
    backupIntervalSeconds: config.backup.target ? (config.backup.intervalHours * HOUR_MS) / 1000 : null,
    /** Starts sending mails and events, and the scheduled tasks. */
    startBackgroundWork: (): void => {
      mail.worker.start();
      webhooks.worker.start();
      sinkWorker?.start();
      logoutWorker.start();
      directoryWorker.start();
      scheduler.start();
      backups?.start();
    },
    ...drain,
    announce: (): void => {
      drain.announce();
      void eventHub.close();
    },
    /** Finishes running requests, then closes the database connections. */
    close: async (): Promise<void> => {
      const workers = [
        mail.worker,
        webhooks.worker,
        sinkWorker,
        logoutWorker,
        directoryWorker,
        scheduler,
        backups,
      ];
      await Promise.all([eventHub.close(), drain.close(), ...workers.map((worker) => worker?.stop())]);
      await Promise.all([tokenUses.flush(), directoryRequests.flush()]);
      databaseClock[Symbol.dispose]();
      await orm.close(true);
    },
  };
};

type Resources = Awaited<ReturnType<typeof openResources>>;

/** Opens the resources that the components share. */
const openResources = async (deps: AppDeps) => {
  const { config, connection, secretKey } = deps;
  const orm = await openDatabase(connection);
  const { pool } = orm;
  const logger = withoutKnownStacks(deps.logger, (error) => pool.isRepeatedOutage(error));
  const databaseClock = await createDatabaseClock(pool);
  const clock = deps.clock ?? databaseClock;
  const outgoingFetch = createGuardedFetch({
    allowsPrivate: config.webhookPrivateNetworks,
    timeoutMs: WEBHOOK_TIMEOUT_MS,
    maxBytes: MAX_RESPONSE_BYTES,
    truncates: true,
  });
  const fork = (): Em => orm.em.fork();
  const listen = (channel: string, fallback: string) => (onHeard: () => void) =>
    listenToDatabase({ connection, channel, onHeard, warn: (line) => logger.warn(line), fallback });
  return {
    ...deps,
    orm,
    pool,
    logger,
    fork,
    listen,
    databaseClock,
    clock,
    hasher: await createPasswordHasher(config.argon2Concurrency, deps.hashCost),
    store: await openPackageStore(config.appStore),
    identityProvider: createIdentityProvider({
      allowsPrivate: config.ssoPrivateNetworks,
      timeoutMs: deps.providerTimeoutMs,
    }),
    readTxtRecords: deps.readTxtRecords ?? createTxtReader(config.dnsServers),
    signingKeys: createSigningKeys({ ...config, em: fork(), secretKey, clock, logger }),
    outgoingFetch,
    sendMessage: createSender(outgoingFetch),
    sinks: createEventSinks(config.sinks, config.baseUrl),
    links: createSignedLinks({ secretKey, baseUrl: config.baseUrl }),
    eventHub: createEventHub({
      fork,
      listen: listen(EVENT_CHANNEL, 'New events are found by polling, every 0.5 s.'),
      logger,
    }),
  };
};

const maintenanceTasks = (resources: Resources) => {
  const { config, connection, fork, clock, signingKeys, readTxtRecords, sinks, logger } = resources;
  const { auditRetentionDays: auditDays, idempotencyHours } = config;
  const audit = createAudit(NO_ORIGIN, clock);
  return {
    erasures: async (signal) => void (await finishErasures(fork(), clock, { signal })),
    usage: (signal) =>
      maintainUsage({
        em: fork(),
        openSession: (lockTimeoutMs) => openUnlimitedSession(connection, lockTimeoutMs),
        now: clock.now(),
        retentionDays: config.usageRetentionDays,
        signal,
      }),
    removedUsage: (signal) => pruneRemovedUsage(fork(), signal),
    signingKeys: () => signingKeys.maintain(audit),
    tickets: () => pruneTickets(fork(), clock.now()),
    openid: () => pruneOpenid(fork(), clock.now()),
    directories: () => pruneDirectories(fork(), clock.now()),
    factorReminders: () => enqueuePolicyReminders(fork(), clock.now()),
    accessReminders: (signal) => enqueueAccessReminders({ em: fork(), now: clock.now(), signal }),
    invitationReminders: (signal) => enqueueInvitationReminders({ em: fork(), now: clock.now(), signal }),
    inactivity: (signal) => runInactivity({ em: fork(), clock, audit, signal }),
    tokenReminders: (signal) => enqueueTokenReminders(fork(), clock.now(), signal),
    digests: (signal) => enqueueDigests(fork(), clock.now(), signal),
    grants: () => pruneGrants(fork(), audit, clock.now()),
    domains: (signal) =>
      recheckDomains({ em: fork(), now: clock.now(), audit, readTxtRecords, logger }, signal),
    embeds: () => pruneEmbeds(fork(), clock.now()),
    looks: () => closeLooks(fork(), audit, clock.now(), auditDays),
    responses: () => pruneResponses(fork(), clock.now(), idempotencyHours),
    events: () => maintainEvents(fork()),
    audit: () => {
      const now = clock.now();
      const names = sinks.map(({ name }) => name);
      return pruneAudit(fork(), now, auditDays, isAwaitedBySinks(now, names));
    },
    operations: () => pruneOperations(fork(), clock.now(), { auditDays, idempotencyHours }),
    invitations: () => pruneInvitations(fork(), clock.now(), config.invitationRetentionDays),
    accessRequests: () => pruneAccessRequests(fork(), clock.now(), config.accessRequestRetentionDays),
    counts: () => pruneCounts(fork(), clock.now()),
    logins: () => pruneCredentials(fork(), clock.now(), config.tokenIdleDays),
  } satisfies Record<string, Task>;
};

/** Wires the mail components: the writer that services use, and the worker that sends. */
const createMailModule = async ({ config, listen, orm, links, clock, logger }: Resources) => {
  const { mailServerUrl, mailFrom, mailPerMinute: perMinute, mailRetentionDays: retentionDays } = config;
  const mailWriter = createMailWriter({ links, mailFrom });
  const outbox = createOutbox({ ...config, em: orm.em, clock, writer: mailWriter, retentionDays });
  const hasServer = mailServerUrl !== undefined;
  const worker = createMailWorker({
    outbox,
    mailer: hasServer ? await openMailer({ url: mailServerUrl, concurrency: MAILS_IN_FLIGHT }) : null,
    perMinute,
    listen: listen(MAIL_CHANNEL, 'New mail is found by polling, every 5 s.'),
    clock,
    logger,
  });
  return {
    mailWriter,
    mailRoute: { hasServer },
    worker,
    /** Deletes old mails. Call it periodically. */
    prune: (): Promise<void> => outbox.prune({ isSent: hasServer }),
  };
};

const WEBHOOK_TIMEOUT_MS = 10_000;

/** The worker that delivers events to webhooks. */
const createWebhookModule = ({ listen, secretKey, orm, clock, logger, sendMessage }: Resources) => {
  const queue = createDeliveryQueue({ em: orm.em, clock, secrets: createWebhookSecrets(secretKey) });
  const worker = createWebhookWorker({
    queue,
    send: sendMessage,
    listen: listen(WEBHOOK_CHANNEL, 'Events are delivered to webhooks by polling, every 5 s.'),
    clock,
    logger,
  });
  return { worker, prune: queue.prune };
};

/** The worker that sends events to sinks; null without any. */
const openSinkWorker = ({ config, listen, orm, clock, logger, sinks }: Resources) => {
  if (sinks.length === 0) return null;
  return createSinkWorker({
    queue: createSinkQueue({ em: orm.em, clock, startsAt: config.sinks.startsAt }),
    sinks,
    listen: listen(EVENT_CHANNEL, 'Events are sent to sinks by polling, every 5 s.'),
    clock,
    logger,
  });
};

/** The worker that sends logouts to apps. */
const openLogoutWorker = (resources: Resources & Pick<ServiceDeps, 'lookUpOpening'>) =>
  createLogoutWorker({
    ...resources,
    ending: createLoginEnding({ ...resources, em: resources.orm.em }),
    queue: createLogoutQueue({ ...resources, em: resources.orm.em }),
    baseUrl: resources.config.baseUrl,
    fetch: resources.outgoingFetch,
  });

/** Interval of the check whether a backup is due. */
const BACKUP_INTERVAL_MS = 60_000;
/** A backup that takes longer counts as failed, for example because its target does not answer. */
const BACKUP_LIMIT_MS = 24 * HOUR_MS;

/** The scheduler that makes the backups of BACKUP_TARGET; null without it. */
const createBackupModule = async (resources: Resources) => {
  const { config, secretKey, logger } = resources;
  const { target, passphrase } = config.backup;
  if (!target) return null;
  // Loaded only where it is used, like the S3 client.
  const { runScheduledBackup } = await import('./backup/scheduled-backup.ts');
  const deps = {
    ...resources,
    store: await openBackupStore(target),
    packages: resources.store,
    version: manifest.version,
    secretKey,
    passphrase: passphrase ?? null,
    schedule: config.backup,
  };
  return createScheduler({
    logger,
    intervalMs: BACKUP_INTERVAL_MS,
    limitMs: BACKUP_LIMIT_MS,
    tasks: { backup: (signal) => runScheduledBackup(deps, signal) },
  });
};
