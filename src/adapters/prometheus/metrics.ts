import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { DELIVERY_FAILURES, telemetry } from '../../lib/telemetry.ts';

/** The values that each scrape reads. */
type MetricSources = StateSources & {
  version: string;
  pool: { totalCount: number; idleCount: number; waitingCount: number; options: { max: number } };
  passwordQueue: () => { running: number; waiting: number };
};

/**
 * Collects the metrics of this process. No label holds a client, a user or a raw path: each metric has a bounded number of
 * series.
 */
export const createMetrics = (sources: MetricSources): Registry => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  countEvents(registry);
  describeProcess(registry, sources);
  describeService(registry, sources);
  return registry;
};

const describeProcess = (registry: Registry, { version, pool, passwordQueue }: MetricSources): void => {
  const registers = [registry];
  const stateGauge = (name: string, help: string, read: () => Record<string, number>) =>
    new Gauge({
      name,
      help,
      labelNames: ['state'],
      registers,
      collect() {
        for (const [state, count] of Object.entries(read())) this.set({ state }, count);
      },
    });
  new Gauge({
    name: 'steward_build_info',
    help: 'Always 1, labelled with the versions.',
    labelNames: ['version', 'node'],
    aggregator: 'first',
    registers,
  }).set({ version, node: process.versions.node }, 1);
  stateGauge(
    'steward_database_connections',
    'Connections of the pool by state, and the work that waits for one.',
    () => ({ busy: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }),
  );
  new Gauge({
    name: 'steward_database_connections_max',
    help: 'Connections that the pool may open.',
    registers,
  }).set(pool.options.max);
  stateGauge(
    'steward_password_hashes',
    'Passwords that are being hashed, and those that wait for a core.',
    passwordQueue,
  );
};

/** In seconds: from reading a single user to the largest exports. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const countEvents = (registry: Registry): void => {
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, labelNames: string[] = []) =>
    new Histogram({ name, help, labelNames, buckets: DURATION_BUCKETS, registers });

  const responses = histogram(
    'steward_http_response_duration_seconds',
    'Time from the request to the end of the response, by route template.',
    ['method', 'route', 'status'],
  );
  telemetry.response.subscribe(({ seconds, ...labels }) => responses.observe(labels, seconds));

  const procedures = histogram(
    'steward_procedure_duration_seconds',
    'Time of a procedure call. The outcome is `ok` or the code of the problem.',
    ['procedure', 'outcome'],
  );
  telemetry.procedure.subscribe(({ seconds, ...labels }) => procedures.observe(labels, seconds));

  const roundTrips = counter(
    'steward_database_round_trips_total',
    'Messages to the database. Those of a batch of reads count once.',
  );
  const statements = counter('steward_database_statements_total', 'Statements sent to the database.');
  telemetry.roundTrip.subscribe((sent) => {
    roundTrips.inc();
    statements.inc(sent.statements);
  });

  const connections = histogram(
    'steward_database_connection_wait_seconds',
    'Time that work waited for a connection of the pool.',
  );
  telemetry.connection.subscribe(({ seconds }) => connections.observe(seconds));

  const logins = counter(
    'steward_logins_total',
    'Login attempts. The outcome is `ok` or the code of the problem; `otp-required` is a right password that waits for a code.',
    ['outcome'],
  );
  telemetry.login.subscribe(({ outcome }) => logins.inc({ outcome }));

  const tickets = counter(
    'steward_tickets_total',
    'Tickets for launches and front ends, without those of forward authentication. The outcome is `ok` or the code of the problem.',
    ['outcome'],
  );
  telemetry.ticket.subscribe(({ outcome }) => tickets.inc({ outcome }));

  const rateLimited = counter(
    'steward_rate_limited_calls_total',
    'Calls refused because the caller exceeded RATE_LIMIT_PER_MINUTE.',
  );
  telemetry.rateLimit.subscribe(({ calls }) => rateLimited.inc(calls));

  const deliveries = counter(
    'steward_mail_deliveries_total',
    'Attempts to hand a mail to the mail server: `taken`, `failed` (to be retried) or `refused` for good.',
    ['outcome'],
  );
  for (const outcome of ['taken', 'failed', 'refused']) deliveries.inc({ outcome }, 0);
  const failures = counter(
    'steward_mail_failures_total',
    'Attempts that did not deliver a mail, by their cause: the mail server, its answer to a part of the mail, or the mail.',
    ['cause'],
  );
  for (const cause of DELIVERY_FAILURES) failures.inc({ cause }, 0);
  telemetry.delivery.subscribe((delivery) => {
    deliveries.inc({ outcome: delivery.outcome });
    if (delivery.outcome !== 'taken') failures.inc({ cause: delivery.cause });
  });

  const webhooks = counter(
    'steward_webhook_deliveries_total',
    'Attempts to deliver an event to a webhook: `delivered` or `failed`.',
    ['outcome'],
  );
  for (const outcome of ['delivered', 'failed']) webhooks.inc({ outcome }, 0);
  telemetry.webhook.subscribe(({ outcome }) => webhooks.inc({ outcome }));

  const openidLogouts = counter(
    'steward_openid_logouts_total',
    'Attempts to notify an app that a login by OpenID Connect has ended: `delivered` or `failed`.',
    ['outcome'],
  );
  for (const outcome of ['delivered', 'failed']) openidLogouts.inc({ outcome }, 0);
  telemetry.openidLogout.subscribe(({ outcome }) => openidLogouts.inc({ outcome }));

  const usage = counter(
    'steward_usage_entries_total',
    'Usage entries received: inserted, or duplicates of entries in the log.',
    ['result'],
  );
  for (const result of ['inserted', 'duplicate']) usage.inc({ result }, 0);
  telemetry.usage.subscribe(({ inserted, duplicates }) => {
    usage.inc({ result: 'inserted' }, inserted);
    usage.inc({ result: 'duplicate' }, duplicates);
  });

  const tasks = counter(
    'steward_scheduled_tasks_total',
    'Runs of scheduled tasks: `ok`, `failed`, or `timeout` if they exceeded their limit.',
    ['task', 'outcome'],
  );
  telemetry.task.subscribe(({ task, outcome }) => tasks.inc({ task, outcome }));
};

/** Name, field of the state, and help. A null state: the metric is missing. */
const STATE_GAUGES = [
  ['steward_mails_unsent', 'unsentMails', 'Mails that wait to be sent.'],
  [
    'steward_mails_oldest_unsent_seconds',
    'oldestUnsentMailSeconds',
    'Age of the oldest mail that waits to be sent.',
  ],
  [
    'steward_webhook_deliveries_waiting',
    'waitingDeliveries',
    'Events that wait to be delivered to a webhook.',
  ],
  [
    'steward_webhook_deliveries_oldest_waiting_seconds',
    'oldestWaitingDeliverySeconds',
    'Age of the oldest event that waits to be delivered to a webhook.',
  ],
  [
    'steward_openid_logouts_waiting',
    'waitingOpenidLogouts',
    'Logouts that wait to be sent to an app that uses OpenID Connect.',
  ],
  ['steward_erasures_unfinished', 'unfinishedErasures', 'Erasures of people that have work left.'],
  [
    'steward_usage_months_ahead',
    'usageMonthsAhead',
    'Months after the current one for which the usage log has partitions.',
  ],
  [
    'steward_backup_age_seconds',
    'backupAgeSeconds',
    'Age of the last good scheduled backup; missing before the first.',
  ],
  [
    'steward_backup_duration_seconds',
    'backupDurationSeconds',
    'Time that the last good scheduled backup took.',
  ],
  ['steward_backup_size_bytes', 'backupSizeBytes', 'Size of the last good scheduled backup.'],
  ['steward_backup_failures', 'backupFailures', 'Scheduled backups that failed since the last good one.'],
] as const;

type SinkLag = { name: string; eventsBehind: number; secondsBehind: number; failingSince: Date | null };

/** Name, value, and help. */
const SINK_GAUGES = [
  [
    'steward_sink_events_behind',
    ({ eventsBehind }: SinkLag) => eventsBehind,
    'Events that a sink has not received, counted up to 100,000.',
  ],
  [
    'steward_sink_seconds_behind',
    ({ secondsBehind }: SinkLag) => secondsBehind,
    'Age of the oldest event that a sink has not received.',
  ],
  [
    'steward_sink_failing',
    ({ failingSince }: SinkLag) => (failingSince ? 1 : 0),
    'Whether the last attempt to send events to a sink has failed: 1 or 0.',
  ],
] as const;

type OperationalState = Record<(typeof STATE_GAUGES)[number][1], number | null> & { sinks: SinkLag[] };

type StateSources = {
  readOperationalState: () => Promise<OperationalState>;
  /** Between scheduled backups; null if none are scheduled. */
  backupIntervalSeconds: number | null;
};

/** How long a state is used after it was read. */
const STATE_AGE_MS = 5_000;

/** The state of the whole service; all instances report the same. */
const describeService = (registry: Registry, sources: StateSources): void => {
  const registers = [registry];
  const state = createStateCache(sources.readOperationalState);
  new Gauge({
    name: 'steward_database_up',
    help: 'Whether the database answered: 1 or 0.',
    aggregator: 'min',
    registers,
    async collect() {
      this.set((await state()) ? 1 : 0);
    },
  });
  for (const [name, field, help] of STATE_GAUGES) {
    new Gauge({
      name,
      help,
      aggregator: 'max',
      registers,
      async collect() {
        const value = (await state())?.[field] ?? null;
        // Without a value there is no series. Workers send values as JSON, which turns NaN into 0.
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  }
  for (const [name, readValue, help] of SINK_GAUGES) {
    new Gauge({
      name,
      help,
      labelNames: ['sink'],
      aggregator: 'max',
      registers,
      async collect() {
        this.reset();
        for (const sink of (await state())?.sinks ?? []) this.set({ sink: sink.name }, readValue(sink));
      },
    });
  }
  if (sources.backupIntervalSeconds === null) return;
  new Gauge({
    name: 'steward_backup_interval_seconds',
    help: 'BACKUP_INTERVAL_HOURS in seconds; missing if no backups are scheduled.',
    aggregator: 'max',
    registers,
  }).set(sources.backupIntervalSeconds);
};

/** One read for all gauges of a scrape; null while the database does not answer. */
const createStateCache = (read: StateSources['readOperationalState']) => {
  let readAt = Number.NEGATIVE_INFINITY;
  let state: Promise<OperationalState | null> = Promise.resolve(null);
  return (): Promise<OperationalState | null> => {
    if (performance.now() - readAt > STATE_AGE_MS) {
      readAt = performance.now();
      state = read().catch((_unavailable: unknown) => null);
    }
    return state;
  };
};
