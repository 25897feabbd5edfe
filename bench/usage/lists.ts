import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { API, median, readThrough, type Source } from './answers.ts';
import type { Place } from './place.ts';
import { cpuSeconds, serverCpuSeconds } from './processes.ts';

const ROUNDS = 300;
const WARM_UP_ROUNDS = 50;
const SITES = 200;

/** What a path takes: its median, and what it costs. */
type Subject = { name: string; source: Source; path: string; times: number[]; bytes: number };

/**
 * Compares the list of apps, with their usage, with that of sites, with bytes alone from a bare Fastify. Requests take
 * turns, so that whatever else the machine does meets all of them.
 */
export const measureLists = async (place: Place, say: (line: string) => void): Promise<void> => {
  await addSites(place);
  const source = { address: place.service.address, token: place.token };
  const [apps, sites] = [subject('apps', source, `${API}/apps/`), subject('sites', source, `${API}/sites/`)];
  await takeTurns([apps, sites], WARM_UP_ROUNDS);

  await using bare = await startBare([apps.bytes, sites.bytes]);
  const [likeApps, likeSites] = [
    subject('bytes like apps', bare.source, `/${apps.bytes}`),
    subject('bytes like sites', bare.source, `/${sites.bytes}`),
  ];
  await takeTurns([likeApps, likeSites], WARM_UP_ROUNDS);
  const all = [apps, sites, likeApps, likeSites];
  for (const each of all) each.times = [];
  await takeTurns(all, ROUNDS);

  say(`Lists, ${ROUNDS} requests each, taking turns`);
  for (const { name, times, bytes } of all) {
    say(`  ${name.padEnd(17)}${median(times).toFixed(2).padStart(8)} ms${String(bytes).padStart(9)} bytes`);
  }
  say(`  apps / sites: ${(median(apps.times) / median(sites.times)).toFixed(2)}`);
  for (const each of [apps, sites]) say(`  ${each.name}: ${await costOf(place, each)}`);
};

const subject = (name: string, source: Source, path: string): Subject => ({
  name,
  source,
  path,
  times: [],
  bytes: 0,
});

const takeTurns = async (subjects: readonly Subject[], rounds: number): Promise<void> => {
  for (let round = 0; round < rounds; round += 1) {
    for (const each of subjects) {
      const { totalMs, bytes } = await readThrough(each.source, each.path);
      each.times.push(totalMs);
      each.bytes = bytes;
    }
  }
};

/** As many as there are apps in the plan. */
const addSites = async ({ service, token }: Place): Promise<void> => {
  const { json } = await service.send('GET /jb/sites/', { token });
  for (let index = json.length; index < SITES; index += 1) {
    const body = { domain: `site-${index}.bench.test`, name: `Site ${index}` };
    const { status } = await service.send('POST /jb/sites/', { token, body });
    if (status !== 201) throw new Error(`A site was answered ${status}.`);
  }
};

const costOf = async ({ service, postmaster }: Place, each: Subject): Promise<string> => {
  const before = [
    await cpuSeconds(service.pid),
    postmaster ? await serverCpuSeconds(postmaster) : 0,
  ] as const;
  await takeTurns([each], ROUNDS);
  const after = [await cpuSeconds(service.pid), postmaster ? await serverCpuSeconds(postmaster) : 0] as const;
  const [own, server] = [after[0] - before[0], after[1] - before[1]].map(
    (seconds) => (seconds * 1000) / ROUNDS,
  );
  return `CPU a request: service ${own?.toFixed(2)} ms, PostgreSQL ${server?.toFixed(2)} ms`;
};

/** A Fastify in a process of its own that answers texts of these lengths. */
const startBare = async (lengths: number[]) => {
  const child = fork(join(import.meta.dirname, 'bare.ts'), lengths.map(String), {
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const [address] = (await once(child, 'message')) as [string]; // bare.ts sends its address
  return {
    source: { address, token: '' },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      child.kill();
      await once(child, 'exit');
    },
  };
};
