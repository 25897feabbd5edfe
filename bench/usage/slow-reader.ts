import { setTimeout as sleep } from 'node:timers/promises';
import { request, type Source } from './answers.ts';
import type { Place } from './place.ts';
import { watchingMemory } from './processes.ts';

const STEP_MS = 100;
const STEP_BYTES = 100_000;
const READING_MS = 10_000;
const STANDING_MS = 10_000;
/** How long the service may take to notice that a reader has hung up. */
const LEAVING_MS = 1_000;

/** Reads a megabyte a second for a while, then nothing, then hangs up, and tells what that costs the service. */
export const readSlowly = async (
  place: Place,
  source: Source,
  path: string,
  say: (line: string) => void,
): Promise<void> => {
  const answer = await request(source, path);
  answer.pause();
  let bytes = 0;
  const reading = await watchingMemory(place.service.pid, async () => {
    const until = performance.now() + READING_MS;
    while (performance.now() < until) {
      const chunk: Buffer | null = answer.read(Math.min(STEP_BYTES, answer.readableLength || STEP_BYTES));
      bytes += chunk?.length ?? 0;
      await sleep(STEP_MS);
    }
  });
  const standing = await watchingMemory(place.service.pid, () => sleep(STANDING_MS));
  const busy = await busySessions(place);
  answer.destroy();
  await sleep(LEAVING_MS);

  say(`  a reader of ${(bytes / 1e6).toFixed(1)} MB in ${READING_MS / 1000} s, who then stops:`);
  say(
    `    memory while reading ${reading.growthMb.toFixed(0)} MB more, while standing ${standing.growthMb.toFixed(0)} MB more`,
  );
  say(`    database sessions in use meanwhile ${busy}, after hanging up ${await busySessions(place)}`);
};

/** Of the service: with a statement or a transaction under way. */
const busySessions = async ({ database }: Place): Promise<number> => {
  const { rows } = await database.query<{ count: number }>(
    `select count(*)::int from pg_stat_activity
    where application_name = 'steward' and datname = current_database() and state <> 'idle'`,
  );
  return rows[0]?.count ?? Number.NaN;
};
