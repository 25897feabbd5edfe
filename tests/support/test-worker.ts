import { pathToFileURL } from 'node:url';
import type { Totals } from './test-process.ts';

/** State that the test files of one process share: a change would affect the next file. */
type ProcessState = Map<string, unknown>;

/** A test file must restore what it replaces in these objects. */
const OBJECTS: [name: string, object: object][] = [
  ['process.env', process.env],
  ['process.stdout', process.stdout],
  ['process.stderr', process.stderr],
  ['globalThis', globalThis],
  ['console', console],
  ['Date', Date],
  ['Math', Math],
  ['JSON', JSON],
  ['Object.prototype', Object.prototype],
  ['Array.prototype', Array.prototype],
];

/** MikroORM's schema generator keeps a counter there. */
const LEFT_BY_LIBRARIES = new Set(['globalThis.idx']);
/** Pino's listener stays as long as one of its loggers exists. */
const isPinos = (listener: { name: string }): boolean => listener.name === 'onExit';

/** Internal fields of streams. */
const isBookkeeping = (key: string | symbol): boolean => typeof key === 'string' && key.startsWith('_');

const readProcessState = (): ProcessState => {
  const state: ProcessState = new Map([
    ['the working directory', process.cwd()],
    ['process.exitCode', process.exitCode],
  ]);
  for (const [name, object] of OBJECTS)
    for (const key of Reflect.ownKeys(object)) {
      const property = Reflect.getOwnPropertyDescriptor(object, key);
      // Getters belong to Node, which loads the value on first use.
      if (property && 'value' in property && !isBookkeeping(key))
        state.set(`${name}.${String(key)}`, property.value);
    }
  for (const event of process.eventNames())
    for (const [index, listener] of process.rawListeners(event).entries())
      if (!isPinos(listener)) state.set(`listener ${index} of ${String(event)}`, listener);
  return state;
};

/** The state before a file was loaded, and the globals of the libraries that it loaded. */
const withLibraries = (before: ProcessState): ProcessState =>
  new Map([...[...readProcessState()].filter(([name]) => name.startsWith('globalThis.')), ...before]);

/** The names of everything that changed. */
const changesSince = (before: ProcessState): string[] => {
  const now = readProcessState();
  const names = new Set([...before.keys(), ...now.keys()]);
  return [...names].filter(
    (name) => !LEFT_BY_LIBRARIES.has(name) && !Object.is(before.get(name), now.get(name)),
  );
};

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
