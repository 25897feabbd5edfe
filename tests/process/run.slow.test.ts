import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { until } from '../support/time.ts';

const RUNNER = join(import.meta.dirname, '../run.ts');
const FIXTURES = join(import.meta.dirname, '../fixtures/runner');

type Run = { status: number; output: string; lastLine: string | undefined };

/** Runs fixtures. None of them needs a database, so that a fake server is enough. */
const run = (part: string, ...options: string[]): Promise<Run> =>
  new Promise((resolve) => {
    const env = { ...process.env, STEWARD_TEST_SERVER: 'none' };
    const args = [RUNNER, '--dir', FIXTURES, ...options, part];
    const child = execFile(process.execPath, args, { env }, (_error, stdout, stderr) => {
      const lastLine = stdout.trimEnd().split('\n').at(-1);
      resolve({ status: child.exitCode ?? -1, output: stdout + stderr, lastLine });
    });
  });

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** A killed process exists until its parent, or the system for an orphan, has reaped it. */
const endsSoon = async (pid: number): Promise<boolean> => {
  await until('it has ended', () => !isAlive(pid)).catch(() => undefined);
  return !isAlive(pid);
};

const test = suite('the test runner');

test('shows what a before hook throws, with the name of its suite', async () => {
  const { output } = await run('throwing-before');

  assert.match(
    output,
    'A before hook of the suite "a suite with a hook" has failed: Error: the reason of the hook',
  );
});

const FALSE_GREENS: [fixture: string, fault: string, lastLine: string][] = [
  ['throwing-before', '1 of 1 did not pass', '0 passed, 1 failed'],
  ['never-run', 'has no tests', '0 passed, 1 failed'],
  ['exits-early', 'ended without a summary', '0 passed, 1 failed'],
  ['wrong-import', 'ended without a summary', '0 passed, 1 failed'],
  ['no-tests', 'has no tests', '0 passed, 1 failed'],
  ['forgotten-only', '1 left out by skip or only', '1 passed, 1 failed'],
  ['skipped', '1 left out by skip or only', '1 passed, 1 failed'],
  ['throwing-after', 'ended without a summary', '0 passed, 1 failed'],
  ['waits-in-vain', 'ended without a summary', '0 passed, 1 failed'],
  ['leaves-environment', 'has left changed: process.env.STEWARD_LEFT', '1 passed, 1 failed'],
  ['replaces-clock', 'has left changed: Date.now', '1 passed, 1 failed'],
  ['bad-exit', 'has left changed: listener ', '1 passed, 1 failed'],
];

for (const [fixture, fault, expected] of FALSE_GREENS) {
  test(`fails a file with this fault: ${fixture}`, async () => {
    const { status, output, lastLine } = await run(fixture);

    assert.is(status, 1);
    assert.match(output, fault);
    assert.is(lastLine, expected);
  });
}

test('ends a file that takes too long, and the processes that it started', async () => {
  const { status, output, lastLine } = await run('hangs', '--timeout-seconds', '5');

  assert.is(status, 1);
  assert.match(output, 'took too long');
  assert.is(lastLine, '1 passed, 1 failed');
  assert.ok(await endsSoon(Number(/started (\d+)/.exec(output)?.[1])));
});

test('runs the remaining files after one whose process failed', async () => {
  const { status, output, lastLine } = await run('exits-early', 'bad-exit', 'fails.test', 'passes.test');

  assert.is(status, 1);
  assert.match(output, /ok +tests\/fixtures\/runner\/passes\.test\.ts: 2 passed/);
  assert.is(lastLine, '4 passed, 3 failed');
});

test.run();
