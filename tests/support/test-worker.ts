import { pathToFileURL } from 'node:url';
import { changesSince, readProcessState, withLibraries } from './process-state.ts';
import type { Totals } from './uvu-totals.ts';

/** Sent to the runner: the totals once all suites of a file have run, then the state once the file has no more open handles. */
export type Report = { totals: Totals } | { changed: string[]; heapBytes: number };

/** uvu queues one such function per suite. It runs the suite and returns the errors and counts. */
type QueuedSuite = () => Promise<[errors: string | true, passed: number, skipped: number, total: number]>;

/** Makes uvu queue suites instead of running them. */
const queueSuites = (): QueuedSuite[] => {
  const suites: QueuedSuite[] = [];
  Object.assign(globalThis, { UVU_DEFER: true, UVU_QUEUE: [suites] });
  return suites;
};

// Loaded after that: uvu reads these globals on load, and adds a listener for the end of the process.
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

const send = (report: Report): void => {
  process.send?.(report);
};

process.on('message', (file: string) => {
  isAtWork = true;
  // From here on, only handles that the file opened keep the process running.
  process.channel?.unref();
  runFile(file).then(
    (totals) => send({ totals }),
    (error) => console.error(error),
  );
});

/** A separate process would end now: the file has closed all handles, or awaits a promise that never settles. */
process.on('beforeExit', () => {
  if (!isAtWork) return;
  isAtWork = false;
  process.channel?.ref();
  send({ changed: changesSince(state), heapBytes: process.memoryUsage().heapUsed });
});
