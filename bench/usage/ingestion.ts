import type { Options } from 'autocannon';
import type { Client } from 'pg';
import { quantile, runAutocannon } from '../comparison/load.ts';
import type { Environment } from '../environment.ts';
import { measureCosts } from '../processes.ts';

export const BATCH_ENTRIES = 1_000;
const BATCHES_PER_APP = 4;
/** Between the timestamps of consecutive entries of a batch. */
const STEP_MS = 5;
/** Placeholder of a timestamp, as long as one. */
const TIMESTAMP = '0000-00-00T00:00:00.000Z';

export type IngestionOptions = { connections: number; apps: number; seconds: number };

/** Measures how fast entries are written in requests of 1,000, and checks the daily rollups afterwards. */
export const measureIngestion = async (
  { database, service, token, postmaster }: Environment,
  { connections, apps, seconds }: IngestionOptions,
  printLine: (line: string) => void,
): Promise<void> => {
  // Not the first app, which is for streams.
  const { rows } = await database.query<{ id: string }>(
    'select id from apps order by created_at, id limit $1 offset 1',
    [apps],
  );
  const targets: Target[] = [];
  for (const { id } of rows) targets.push({ id, bodies: await createBodies(database, id) });
  const load = () => postEntries({ url: service.address, token, connections, seconds, targets });
  const { result, costs } = await measureCosts([service.pid], postmaster, load);

  const entries = result.latencies.length * BATCH_ENTRIES;
  const megabytes = Buffer.byteLength(targets[0]?.bodies[0] ?? '') / 1e6;
  const perSecond = (entries / result.seconds).toFixed(0);
  printLine(
    `Writing over ${connections} connections to ${targets.length} apps, 1,000 entries (${megabytes.toFixed(2)} MB) per request`,
  );
  printLine(`  ${entries} entries in ${result.seconds.toFixed(1)} s: ${perSecond} per second`);
  printLine(
    `  latency: p50 ${quantile(result.latencies, 0.5).toFixed(0)} ms, p95 ${quantile(result.latencies, 0.95).toFixed(0)} ms`,
  );
  printLine(`  failed requests: ${result.failures}`);
  printLine(
    `  CPU: service ${costs.serverSeconds.toFixed(1)} s, PostgreSQL ${costs.postgresSeconds.toFixed(1)} s`,
  );
  printLine(`  memory of the service: ${costs.initialMb.toFixed(0)} MB, peak ${costs.peakMb.toFixed(0)} MB`);
  const wrong: string[] = [];
  for (const { id } of targets) if (!(await hasCorrectRollups(database, id))) wrong.push(id);
  printLine(`  apps with wrong rollups: ${wrong.join(', ') || 'none'}`);
};

/** Creates request bodies from entries of the app's log, with placeholders for the timestamps. */
export const createBodies = async (database: Client, appId: string): Promise<string[]> => {
  const { rows } = await database.query<{ entry: string }>(
    `select json_build_object('email', email, 'full_name', full_name, 'timestamp', $2::text, 'action', action,
      'action_description', action_description, 'extra', extra)::text as entry
    from usage_entries where app_id = $1 order by occurred_at desc, id desc limit $3`,
    [appId, TIMESTAMP, BATCH_ENTRIES * BATCHES_PER_APP],
  );
  if (rows.length === 0) throw new Error(`The app ${appId} has no entries to copy.`);
  return Array.from({ length: BATCHES_PER_APP }, (_, batch) => {
    const entries = Array.from(
      { length: BATCH_ENTRIES },
      (_entry, index) => rows[(batch * BATCH_ENTRIES + index) % rows.length]?.entry,
    );
    return `[${entries.join(',')}]`;
  });
};

/** Replaces the placeholders of a body by timestamps; the last one is `now`. */
export const fillTimestamps = (body: string, now: number): string => {
  let time = now - (BATCH_ENTRIES - 1) * STEP_MS;
  return body.replaceAll(TIMESTAMP, () => {
    const timestamp = new Date(time).toISOString();
    time += STEP_MS;
    return timestamp;
  });
};

type Target = { id: string; bodies: string[] };
type PostOptions = { url: string; token: string; connections: number; seconds: number; targets: Target[] };

/** Each connection writes to one app, as a platform does. */
const postEntries = async ({ url, token, connections, seconds, targets }: PostOptions) => {
  const latencies: number[] = [];
  let clients = 0;
  const options: Options = {
    url,
    connections,
    duration: seconds,
    setupClient: (client) => {
      const target = targets[clients % targets.length];
      clients += 1;
      client.setRequests(
        (target?.bodies ?? []).map((body) => ({
          method: 'POST',
          path: `/api/v1/jb/apps/${target?.id}/usage/`,
          headers: { authorization: `Token ${token}`, 'content-type': 'application/json' },
          setupRequest: (request) => ({ ...request, body: fillTimestamps(body, Date.now()) }),
        })),
      );
    },
  };
  const { errors, non2xx, duration } = await runAutocannon(options, (status, _size, latency) => {
    if (status === 201) latencies.push(latency);
  });
  return { latencies, failures: errors + non2xx, seconds: duration };
};

/** Compares the number of entries in the log with the counts per person and per day. */
export const hasCorrectRollups = async (database: Client, appId: string): Promise<boolean> => {
  const { rows } = await database.query<{ is_correct: boolean }>(
    `select log.count = people.sum and log.count = days.sum as is_correct from
      (select count(*) from usage_entries where app_id = $1) log,
      (select coalesce(sum(actions), 0) as sum from usage_days where app_id = $1) people,
      (select coalesce(sum(actions), 0) as sum from usage_app_days where app_id = $1) days`,
    [appId],
  );
  return rows[0]?.is_correct === true;
};
