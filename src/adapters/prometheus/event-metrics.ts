import { Counter, Histogram, type Registry } from 'prom-client';
import { DELIVERY_FAILURES, telemetry } from '../../lib/telemetry.ts';

/** In seconds: from reading one user to the largest exports. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** What this process counts and times, from the events of `src/lib/telemetry.ts`. */
export const countEvents = (registry: Registry): void => {
  const registers = [registry];
  const buckets = DURATION_BUCKETS;

  const responses = new Histogram({
    name: 'steward_http_response_duration_seconds',
    help: 'Time from the request to the end of the response, by route template.',
    labelNames: ['method', 'route', 'status'],
    buckets,
    registers,
  });
  telemetry.response.subscribe(({ seconds, ...labels }) => responses.observe(labels, seconds));

  const procedures = new Histogram({
    name: 'steward_procedure_duration_seconds',
    help: 'Time of a procedure call. The outcome is `ok` or the code of the problem.',
    labelNames: ['procedure', 'outcome'],
    buckets,
    registers,
  });
  telemetry.procedure.subscribe(({ seconds, ...labels }) => procedures.observe(labels, seconds));

  const roundTrips = new Counter({
    name: 'steward_database_round_trips_total',
    help: 'Messages to the database. Those of a batch of reads count once.',
    registers,
  });
  const statements = new Counter({
    name: 'steward_database_statements_total',
    help: 'Statements sent to the database.',
    registers,
  });
  telemetry.roundTrip.subscribe((sent) => {
    roundTrips.inc();
    statements.inc(sent.statements);
  });

  const connections = new Histogram({
    name: 'steward_database_connection_wait_seconds',
    help: 'Time that work waited for a connection of the pool.',
    buckets,
    registers,
  });
  telemetry.connection.subscribe(({ seconds }) => connections.observe(seconds));

  const logins = new Counter({
    name: 'steward_logins_total',
    help: 'Login attempts. The outcome is `ok` or the code of the problem.',
    labelNames: ['outcome'],
    registers,
  });
  telemetry.login.subscribe(({ outcome }) => logins.inc({ outcome }));

  const tickets = new Counter({
    name: 'steward_tickets_total',
    help: 'Tickets for launches and front ends, without those of forward authentication. The outcome is `ok` or the code of the problem.',
    labelNames: ['outcome'],
    registers,
  });
  telemetry.ticket.subscribe(({ outcome }) => tickets.inc({ outcome }));

  const rateLimited = new Counter({
    name: 'steward_rate_limited_calls_total',
    help: 'Calls refused because the caller exceeded RATE_LIMIT_PER_MINUTE.',
    registers,
  });
  telemetry.rateLimit.subscribe(({ calls }) => rateLimited.inc(calls));

  const deliveries = new Counter({
    name: 'steward_mail_deliveries_total',
    help: 'Attempts to hand a mail to the mail server: `taken`, `failed` (to be retried) or `refused` for good.',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of ['taken', 'failed', 'refused']) deliveries.inc({ outcome }, 0);
  const failures = new Counter({
    name: 'steward_mail_failures_total',
    help: 'Attempts that did not deliver a mail, by their cause: the mail server, its answer to a part of the mail, or the mail.',
    labelNames: ['cause'],
    registers,
  });
  for (const cause of DELIVERY_FAILURES) failures.inc({ cause }, 0);
  telemetry.delivery.subscribe((delivery) => {
    deliveries.inc({ outcome: delivery.outcome });
    if (delivery.outcome !== 'taken') failures.inc({ cause: delivery.cause });
  });

  const usage = new Counter({
    name: 'steward_usage_entries_total',
    help: 'Usage entries received: inserted, or duplicates of entries in the log.',
    labelNames: ['result'],
    registers,
  });
  for (const result of ['inserted', 'duplicate']) usage.inc({ result }, 0);
  telemetry.usage.subscribe(({ inserted, duplicates }) => {
    usage.inc({ result: 'inserted' }, inserted);
    usage.inc({ result: 'duplicate' }, duplicates);
  });

  const tasks = new Counter({
    name: 'steward_scheduled_tasks_total',
    help: 'Runs of scheduled tasks: `ok`, `failed`, or `timeout` if they exceeded their limit.',
    labelNames: ['task', 'outcome'],
    registers,
  });
  telemetry.task.subscribe(({ task, outcome }) => tasks.inc({ task, outcome }));
};
