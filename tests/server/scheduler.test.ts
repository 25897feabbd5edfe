import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { telemetry } from '../../src/lib/telemetry.ts';
import { createScheduler } from '../../src/server/scheduler.ts';
import { until } from '../support/time.ts';

const INTERVAL_MS = 50;
const NEVER = new Promise<never>(() => {});
const FOR_EVER = 600_000;
const scheduler = suite('scheduler');

type Warning = { task: string; err: Error };

const collectWarnings = () => {
  const warnings: Warning[] = [];
  return { warnings, logger: { warn: (fields: unknown) => void warnings.push(fields as Warning) } };
};

scheduler('runs the other tasks on time while one hangs', async () => {
  const { logger } = collectWarnings();
  let runs = 0;
  const other = async (): Promise<void> => {
    runs += 1;
  };
  const tasks = { hanging: () => NEVER, other };
  const { start, stop } = createScheduler({
    tasks,
    logger,
    intervalMs: INTERVAL_MS,
    patienceMs: 10,
    limitMs: 200,
  });
  start();

  await until('the other task has run three times', () => runs >= 3);
  await stop();
});

scheduler('ends a task at its limit, reports it, and runs it again', async () => {
  const { logger, warnings } = collectWarnings();
  const outcomes: string[] = [];
  telemetry.task.subscribe(({ task, outcome }) => outcomes.push(`${task} ${outcome}`));
  const reasons: unknown[] = [];
  let runs = 0;
  const slow = (signal: AbortSignal): Promise<void> => {
    runs += 1;
    if (runs > 1) return Promise.resolve();
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reasons.push(signal.reason);
        reject(new Error('Connection terminated'));
      });
    });
  };
  const { start, stop } = createScheduler({ tasks: { slow }, logger, intervalMs: INTERVAL_MS, limitMs: 20 });
  start();

  await until('the task has run again', () => outcomes.includes('slow ok'));
  await stop();
  assert.is(outcomes[0], 'slow timeout');
  assert.equal(
    warnings.map(({ task, err }) => `${task}: ${err.name}: ${err.message}`),
    ['slow: TimeoutError: The task did not end within 0.02 s.'],
  );
  assert.equal(
    reasons.map((reason) => reason === warnings[0]?.err),
    [true],
  );
});

scheduler('does not start a task beside its running one, but once more after it if asked for', async () => {
  const { logger } = collectWarnings();
  const { promise, resolve } = Promise.withResolvers<void>();
  let [runs, running, most] = [0, 0, 0];
  const task = async (): Promise<void> => {
    runs += 1;
    running += 1;
    most = Math.max(most, running);
    await promise;
    running -= 1;
  };
  const { start, stop, runSoon } = createScheduler({ tasks: { task }, logger, intervalMs: FOR_EVER });
  start();
  runSoon('task');
  resolve();

  await until('the task has run twice', () => runs === 2);
  await stop();
  assert.is(most, 1);
});

scheduler('aborts the running tasks when it stops, which is no failure', async () => {
  const { logger, warnings } = collectWarnings();
  let [isRunning, isAborted] = [false, false];
  const task = (signal: AbortSignal): Promise<void> =>
    new Promise((_resolve, reject) => {
      isRunning = true;
      signal.addEventListener('abort', () => {
        isAborted = true;
        reject(signal.reason);
      });
    });
  const { start, stop, runSoon } = createScheduler({ tasks: { task }, logger, intervalMs: FOR_EVER });
  start();
  runSoon('task');
  await until('the task is running', () => isRunning);
  await stop();

  assert.ok(isAborted);
  assert.equal(warnings, []);
});

scheduler.run();
