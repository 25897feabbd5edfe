import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob, stat } from 'node:fs/promises';
import { dirname, join, normalize, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { AWS_ENVIRONMENT, findTempFolder } from './support/environment.ts';
import { makeScratchFolder, SHARED_FOLDER_VARIABLE } from './support/files.ts';
import {
  judge,
  startTestProcess,
  type TestProcess,
  type TestProcessOptions,
  type Verdict,
} from './support/test-process.ts';
import { startTestServer } from './support/test-server.ts';

/** The end of a file's name tells its level. CI machines have two cores; slow files often wait for other processes. */
const LEVELS = {
  quick: { ending: '.test.ts', atOnce: 2 },
  slow: { ending: '.slow.test.ts', atOnce: 3 },
  nightly: { ending: '.nightly.test.ts', atOnce: 2 },
} as const;
type Level = keyof typeof LEVELS;

/**
 * `node tests/run.ts` runs the quick test files; `--level slow` and `--level nightly` run those of other levels. `PART…` selects
 * the files whose path contains one of the parts, of any level unless one is named; `--one NAME` the file with this name, or if
 * there is none, all whose path contains it. `--check` runs `npm run check` beside them, and counts it as one more test. Each
 * `--first PART` moves files whose path contains the part to the front, in the order given.
 */
const { values, positionals: parts } = parseArgs({
  allowPositionals: true,
  options: {
    level: { type: 'string', multiple: true },
    dir: { type: 'string', default: import.meta.dirname },
    one: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    first: { type: 'string', multiple: true, default: [] },
    'timeout-seconds': { type: 'string', default: '900' },
  },
});

const PROJECT = dirname(import.meta.dirname);
const FIXTURES = join('tests', 'fixtures');
const dir = relative(PROJECT, resolve(values.dir));

const levelOf = (file: string): Level => {
  if (file.endsWith(LEVELS.nightly.ending)) return 'nightly';
  return file.endsWith(LEVELS.slow.ending) ? 'slow' : 'quick';
};

const isLevel = (name: string): name is Level => name in LEVELS;

const readLevels = (): Level[] => {
  const named = values.level ?? (parts.length > 0 ? Object.keys(LEVELS) : ['quick']);
  const levels = named.filter(isLevel);
  if (levels.length === named.length) return levels;
  console.error(`--level must be one of ${Object.keys(LEVELS).join(', ')}.`);
  process.exit(1);
};

const levels = readLevels();

/** The fixtures of the runner fail on purpose: they run only with `--dir`. */
const isWanted = (file: string): boolean =>
  (dir.startsWith(FIXTURES) || !file.startsWith(FIXTURES)) &&
  levels.includes(levelOf(file)) &&
  (parts.length === 0 || parts.some((part) => file.includes(normalize(part))));

/** With `--one`, `routers/users` names `tests/routers/users.test.ts` and not `users-bulk.test.ts` beside it. */
const withOneName = (files: string[]): string[] => {
  const endings = parts.flatMap((part) => [
    normalize(part),
    ...Object.values(LEVELS).map(({ ending }) => `${normalize(part)}${ending}`),
  ]);
  const exact = files.filter((file) => endings.some((ending) => `/${file}`.endsWith(`/${ending}`)));
  return exact.length > 0 ? exact : files;
};

/** Long files first: one at the end would leave a core idle. */
const bySize = async (files: readonly string[]): Promise<string[]> => {
  const sizes = new Map<string, number>();
  for (const file of files) sizes.set(file, (await stat(join(PROJECT, file))).size);
  const sizeOf = (file: string): number => sizes.get(file) ?? 0;
  return files.toSorted((a, b) => sizeOf(b) - sizeOf(a));
};

const findFiles = async (): Promise<string[]> => {
  const found: string[] = [];
  for await (const file of glob(join(dir, '**/*.test.ts'), { cwd: PROJECT, exclude: ['**/node_modules/**'] }))
    if (isWanted(file)) found.push(file);
  const files = await bySize(values.one ? withOneName(found) : found);
  const rank = (file: string): number => [...values.first, ''].findIndex((part) => file.includes(part));
  return files.toSorted((a, b) => rank(a) - rank(b));
};

/** Output that is shown even if a file passes: comments as in TAP. */
const REMARK = /^# .*$/gm;

const secondsOf = new Map<string, number>();

const runFile = async (file: string, testProcess: TestProcess): Promise<Verdict> => {
  const started = performance.now();
  const ending = await testProcess.run(join(PROJECT, file));
  const verdict = judge(ending);

  const seconds = (performance.now() - started) / 1000;
  secondsOf.set(file, seconds);
  const mark = verdict.faults.length > 0 ? 'FAIL' : 'ok  ';
  const faults = verdict.faults.map((fault) => `, ${fault}`).join('');
  console.log(`${mark} ${file}: ${verdict.passed} passed${faults} (${seconds.toFixed(2)} s)`);
  if (verdict.faults.length > 0) console.log(ending.output);
  else for (const [remark] of ending.output.matchAll(REMARK)) console.log(`     ${remark}`);
  return verdict;
};

/** Runs files one after another in the same process. A failure may change its state, so a new process follows. */
const runSequentially = async (
  queue: Iterator<string>,
  verdicts: Verdict[],
  options: TestProcessOptions,
): Promise<void> => {
  for (;;) {
    await using testProcess = await startTestProcess(options);
    for (let isSound = true; isSound; ) {
      if (testProcess.isFull()) {
        await testProcess.end();
        break;
      }
      const { value: file, done } = queue.next();
      if (done || options.signal.aborted) return await testProcess.end();
      const verdict = await runFile(file, testProcess);
      verdicts.push(verdict);
      isSound = verdict.faults.length === 0;
    }
  }
};

const createQueue = (files: readonly string[]) => {
  let next = 0;
  return function* take(): Generator<string, void> {
    for (let file = files[next]; file !== undefined; file = files[next]) {
      next += 1;
      yield file;
    }
  };
};

/** Runs the files of one level after those of the other. */
const runLevel = async (
  files: readonly string[],
  level: Level,
  verdicts: Verdict[],
  options: TestProcessOptions,
): Promise<void> => {
  const wanted = files.filter((file) => levelOf(file) === level);
  // Shared: each process takes the next file.
  const take = createQueue(wanted);
  const processes = Array.from({ length: Math.min(LEVELS[level].atOnce, wanted.length) }, take);
  await Promise.all(processes.map((queue) => runSequentially(queue, verdicts, options)));
};

const runAll = async (files: readonly string[], verdicts: Verdict[], signal: AbortSignal): Promise<void> => {
  process.env.TMPDIR = await findTempFolder();
  await using shared = await makeScratchFolder();
  const server = await startTestServer();
  const env = {
    ...process.env,
    NODE_ENV: 'test',
    ...AWS_ENVIRONMENT,
    NODE_COMPILE_CACHE: join(PROJECT, 'node_modules', '.cache', 'tests'),
    ...server.env,
    [SHARED_FOLDER_VARIABLE]: shared.path,
  };
  const options = { env, signal, timeoutMs: Number(values['timeout-seconds']) * 1000 };
  try {
    for (const level of levels) await runLevel(files, level, verdicts, options);
  } finally {
    await server.stop();
  }
};

/** Types and style use one core where tests wait for the database. */
const runCheck = async (signal: AbortSignal): Promise<Verdict> => {
  const started = performance.now();
  const child = spawn('npm', ['run', '--silent', 'check'], { cwd: PROJECT, signal });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const [status] = await once(child, 'close');
  const isSound = status === 0;
  secondsOf.set('npm run check', (performance.now() - started) / 1000);
  console.log(isSound ? 'ok   npm run check' : `FAIL npm run check\n${output}`);
  return { passed: isSound ? 1 : 0, failed: isSound ? 0 : 1, faults: [] };
};

const SLOWEST = 10;

const printSlowest = (): void => {
  const slowest = [...secondsOf].sort(([, a], [, b]) => b - a).slice(0, SLOWEST);
  console.log('The slowest files:');
  for (const [file, seconds] of slowest) console.log(`${seconds.toFixed(1).padStart(6)} s  ${file}`);
};

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => interrupted.abort());

if (values.one && parts.length === 0) {
  console.error('Name the file to run, such as routers/users: npm run test:one NAME');
  process.exit(1);
}

const files = await findFiles();
const verdicts: Verdict[] = [];
const outcomes: Verdict[] = [];
let outside = 0;
try {
  if (files.length === 0) throw new Error('No test file matches.');
  const checks = values.check ? [runCheck(interrupted.signal)] : [];
  await runAll(files, verdicts, interrupted.signal);
  outcomes.push(...(await Promise.all(checks)));
} catch (error) {
  console.log(error);
  outside = 1;
}

if (files.length > SLOWEST) printSlowest();
const sum = (key: 'passed' | 'failed') =>
  [...verdicts, ...outcomes].reduce((total, verdict) => total + verdict[key], 0);
// Files that did not run for any reason count as failed.
const failed = sum('failed') + files.length - verdicts.length + outside;
console.log(`${sum('passed')} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
