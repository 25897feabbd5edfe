import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { median, quantile } from './answers.ts';
import { makeBodies } from './batches.ts';
import type { LoadReport, Orders } from './load.ts';
import type { Place } from './place.ts';
import { cpuSeconds, serverCpuSeconds, watchingMemory } from './processes.ts';
import { differencesOf } from './recount.ts';

export type IngestionOptions = { connections: number; apps: number; seconds: number };

/** Measures how fast entries are written, in requests of 1,000, and whether the rollups are right afterwards. */
export const measureIngestion = async (
  place: Place,
  { connections, apps, seconds }: IngestionOptions,
  say: (line: string) => void,
): Promise<void> => {
  const { database, service, token, postmaster } = place;
  // Not the first, which is for streams.
  const { rows } = await database.query<{ id: string }>(
    'select id from apps order by created_at, id limit $1 offset 1',
    [apps],
  );
  const targets: Orders['apps'] = [];
  for (const { id } of rows) targets.push({ id, bodies: await makeBodies(database, id) });
  const before = {
    own: await cpuSeconds(service.pid),
    server: postmaster ? await serverCpuSeconds(postmaster) : 0,
  };
  const {
    result: report,
    peakMb,
    growthMb,
  } = await watchingMemory(service.pid, () =>
    generateLoad({ address: service.address, token, connections, seconds, apps: targets }),
  );
  const after = {
    own: await cpuSeconds(service.pid),
    server: postmaster ? await serverCpuSeconds(postmaster) : 0,
  };

  const body = Buffer.byteLength(targets[0]?.bodies[0] ?? '') / 1e6;
  say(
    `Writing over ${connections} connections to ${targets.length} apps, 1,000 entries (${body.toFixed(2)} MB) a request`,
  );
  say(
    `  ${report.entries} entries acknowledged in ${report.seconds.toFixed(1)} s: ${(report.entries / report.seconds).toFixed(0)} a second`,
  );
  say(
    `  a request takes ${median(report.times).toFixed(0)} ms, one of twenty more than ${quantile(report.times, 0.95).toFixed(0)} ms`,
  );
  say(`  refused: ${JSON.stringify(report.failures)}`);
  say(
    `  CPU: service ${(after.own - before.own).toFixed(1)} s, PostgreSQL ${(after.server - before.server).toFixed(1)} s, generator ${report.cpuSeconds.toFixed(1)} s`,
  );
  say(`  memory of the service at most ${peakMb.toFixed(0)} MB: ${growthMb.toFixed(0)} MB more`);
  const different: string[] = [];
  for (const { id } of targets) {
    different.push(...(await differencesOf(database, id)).map((name) => `${name} of ${id}`));
  }
  say(`  rollups that are not what the log says: ${different.join(', ') || 'none'}`);
};

/** In a process of its own, so that its time can be told from the service's. The token goes over a pipe. */
const generateLoad = async (orders: Orders): Promise<LoadReport> => {
  const child = fork(join(import.meta.dirname, 'load.ts'));
  child.send(orders);
  const ended = once(child, 'exit');
  const [report] = (await once(child, 'message')) as [LoadReport]; // load.ts sends one message
  await ended;
  return report;
};
