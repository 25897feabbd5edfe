import { pathToFileURL } from 'node:url';
import { changesSince, readProcessState, withLibraries } from './process-state.ts';
import type { Totals } from './uvu-totals.ts';

/** What it tells: the totals once all suites of the file have run, then that nothing of the file goes on any more. */
export type Report = { totals: Totals } | { changed: string[]; heapBytes: number };

/** What uvu queues for each suite: runs it and tells its errors, and how many passed, were left out, were there. */
type QueuedSuite = () => Promise<[errors: string | true, passed: number, skipped: number, total: number]>;

/** uvu leaves it to us to run what is queued. */
const queueSuites = (): QueuedSuite[] => {
  const suites: QueuedSuite[] = [];
  Object.assign(globalThis, { UVU_DEFER: true, UVU_QUEUE: [suites] });
  return suites;
};

// It looks for who runs it when it is loaded, and listens for the end of the process once and for all.
queueSuites();
await import('uvu');
let state = readProcessState();
let isAtWork = false;

const runFile = async (file: string): Promise<Totals> => {
  const suites = queueSuites();
  state = readProcessState();
  await import(pathToFileURL(file).href);
  state = withLibraries(state);
  const totals = { total: 0, passed: 0, skipped: 0 };
  for (const suite of suites) {
    const [errors, passed, skipped, total] = await suite();
    totals.total += total;
    totals.passed += passed;
    totals.skipped += skipped;
    if (errors !== true) process.stdout.write(`\n${errors}\n`);
  }
  return totals;
};

const tell = (report: Report): void => {
  process.send?.(report);
};

process.on('message', (file: string) => {
  isAtWork = true;
  // From here on only what the file has opened keeps the process going.
  process.channel?.unref();
  runFile(file).then(
    (totals) => tell({ totals }),
    (error) => console.error(error),
  );
});

/** A process of its own would end now: the file has closed what it opened, or waits for what never comes. */
process.on('beforeExit', () => {
  if (!isAtWork) return;
  isAtWork = false;
  process.channel?.ref();
  tell({ changed: changesSince(state), heapBytes: process.memoryUsage().heapUsed });
});
