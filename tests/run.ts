import { existsSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join, normalize, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { missingPrograms, PG_DUMP, PROGRAMS } from './failover/programs.ts';
import {
  AWS_ENVIRONMENT,
  CHROMIUM,
  findTempFolder,
  hasPreviousVersion,
  LEMONLDAP,
  OATHTOOL,
  OLD_PROGRAMS,
  PGBOUNCER,
  PREVIOUS,
} from './support/environment.ts';
import { makeScratchFolder, SHARED_FOLDER_VARIABLE } from './support/files.ts';
import {
  judge,
  startTestProcess,
  type TestProcess,
  type TestProcessOptions,
  type Verdict,
} from './support/test-process.ts';
import { startTestServer } from './support/test-server.ts';

/**
 * `node tests/run.ts [PART…]` runs the test files whose path contains one of the parts, or all quick files. `--all` runs the
 * slow ones too, and the parts then name folders that run only if named. Each `--first PART` moves files whose path contains the
 * part to the front, in the order given. `--one NAME` runs the file with this name, or all whose path contains it if there is none.
 */
const { values, positionals: parts } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    dir: { type: 'string', default: import.meta.dirname },
    one: { type: 'boolean', default: false },
    first: { type: 'string', multiple: true, default: [] },
    'timeout-seconds': { type: 'string', default: '900' },
  },
});

/** CI machines have two cores. Slow files often wait, for processes that start or for a time limit; quick ones do not. */
const SLOW_AT_ONCE = 3;
const QUICK_AT_ONCE = 2;

const PROJECT = dirname(import.meta.dirname);
const FIXTURES = join('tests', 'fixtures');
const dir = relative(PROJECT, resolve(values.dir));

/** These tests need programs that no npm package provides. Without them the runner skips the tests and says so. */
const BROWSER_TESTS = join('tests', 'browser');
const POOLER_TESTS = join('tests', 'pgbouncer');
const LEMONLDAP_TESTS = join('tests', 'integrations', 'lemonldap');
const OATHTOOL_TESTS = join('tests', 'browser', 'second-factors.slow');

/** `.ci/run` installs the programs of an older PostgreSQL. The others need the previous version of Steward from git. */
const EMBEDDED_UPGRADE_TESTS = join('tests', 'upgrade', 'embedded');
const VERSION_TESTS = join('tests', 'upgrade', 'previous-version');
const ROLLING_TESTS = join('tests', 'upgrade', 'rolling');

/** `pg_dump` reads no newer server, and the embedded one comes without it: the test starts Debian's. */
const DUMP_TEST = join('tests', 'process', 'erasure-dump.slow.test.ts');

const RSYSLOG_TEST = join('tests', 'process', 'sinks-rsyslog.slow.test.ts');
const RSYSLOG = '/usr/sbin/rsyslogd';

/** Packs and installs the package, and builds the image, which takes minutes: runs only if named, as in `.ci/run`. */
const PACKAGE_TESTS = join('tests', 'package');

/** Needs Debian's PostgreSQL, Patroni, etcd and HAProxy, and takes minutes: runs only if named. */
const FAILOVER_TESTS = join('tests', 'failover');

/** These start programs and take longer than all others: they run with `--all` or if named. */
const PROGRAM_TESTS = [
  'browser',
  'process',
  'pgbouncer',
  'bench',
  'examples',
  'openapi-client',
  'upgrade',
].map((name) => join('tests', name));
/** The same applies to files that take seconds because of much data or many rounds. */
const SLOW = '.slow.test.ts';
const isSlow = (file: string): boolean =>
  file.endsWith(SLOW) || [...PROGRAM_TESTS, PACKAGE_TESTS].some((folder) => file.startsWith(folder));
const isBrief = !values.all && parts.length === 0 && !dir.startsWith(FIXTURES);

const isNamed = (folder: string): boolean => parts.some((part) => normalize(part).startsWith(folder));
const leftOut = [
  ...[PACKAGE_TESTS, FAILOVER_TESTS].filter((folder) => !isNamed(folder)),
  ...(isBrief ? PROGRAM_TESTS : []),
];

/** The fixtures of the runner fail on purpose: they run only with `--dir`. */
const isWanted = (file: string): boolean =>
  (dir.startsWith(FIXTURES) || !file.startsWith(FIXTURES)) &&
  !leftOut.some((folder) => file.startsWith(folder)) &&
  !(isBrief && file.endsWith(SLOW)) &&
  (values.all || parts.length === 0 || parts.some((part) => file.includes(normalize(part))));

/** With `--one`, `routers/users` names `tests/routers/users.test.ts` and not `users-bulk.test.ts` beside it. */
const withOneName = (files: string[]): string[] => {
  const endings = parts.flatMap((part) => [
    normalize(part),
    `${normalize(part)}.test.ts`,
    `${normalize(part)}${SLOW}`,
  ]);
  const exact = files.filter((file) => endings.some((ending) => `/${file}`.endsWith(`/${ending}`)));
  return exact.length > 0 ? exact : files;
};

const findFiles = async (): Promise<{ files: string[]; areAnyMissing: boolean }> => {
  const files: string[] = [];
  for await (const file of glob(join(dir, '**/*.test.ts'), { cwd: PROJECT, exclude: ['**/node_modules/**'] }))
    if (isWanted(file)) files.push(file);
  if (isBrief) console.log(`Left out ${PROGRAM_TESTS.join(', ')}, *${SLOW}: npm run test:all runs them too.`);
  const absent = (...paths: string[]): string[] => paths.filter((path) => !existsSync(path));
  const history = hasPreviousVersion()
    ? []
    : [`commit ${PREVIOUS.commit} in the history: a shallow clone gets it by git fetch --unshallow`];
  const missing = [
    { prefix: BROWSER_TESTS, what: absent(CHROMIUM) },
    { prefix: POOLER_TESTS, what: absent(PGBOUNCER) },
    { prefix: LEMONLDAP_TESTS, what: absent(LEMONLDAP) },
    { prefix: OATHTOOL_TESTS, what: absent(OATHTOOL) },
    { prefix: FAILOVER_TESTS, what: missingPrograms() },
    { prefix: RSYSLOG_TEST, what: absent(RSYSLOG) },
    { prefix: DUMP_TEST, what: absent(PG_DUMP) },
    { prefix: EMBEDDED_UPGRADE_TESTS, what: absent(OLD_PROGRAMS) },
    { prefix: VERSION_TESTS, what: history },
    { prefix: ROLLING_TESTS, what: [...history, ...absent(PROGRAMS.haproxy)] },
  ].filter(({ what }) => what.length > 0);
  for (const { prefix, what } of missing) {
    if (files.some((file) => file.startsWith(prefix)))
      console.log(`Left out ${prefix}: there is no ${what.join(', ')}.`);
  }
  const runnable = (values.one ? withOneName(files) : files).filter(
    (file) => !missing.some(({ prefix }) => file.startsWith(prefix)),
  );
  const rank = (file: string) => [...values.first, ''].findIndex((part) => file.includes(part));
  // Quick files last: a long one at the end would leave a core idle.
  const order = (file: string) => Number(!isSlow(file));
  runnable.sort((a, b) => rank(a) - rank(b) || order(a) - order(b) || a.localeCompare(b));
  return { files: runnable, areAnyMissing: runnable.length < files.length };
};

/** Output that is shown even if a file passes: comments as in TAP, and skipped tests. */
const REMARK = /^(# |Left out ).*$/gm;

const runFile = async (file: string, testProcess: TestProcess): Promise<Verdict> => {
  const started = performance.now();
  const ending = await testProcess.run(join(PROJECT, file));
  const verdict = judge(ending);

  const seconds = ((performance.now() - started) / 1000).toFixed(2);
  const mark = verdict.faults.length > 0 ? 'FAIL' : 'ok  ';
  const faults = verdict.faults.map((fault) => `, ${fault}`).join('');
  console.log(`${mark} ${file}: ${verdict.passed} passed${faults} (${seconds} s)`);
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

/** Shares files between processes: each takes the next one, until that is not wanted. */
const createQueue = (files: readonly string[]) => {
  let next = 0;
  return function* take(isWanted: (file: string) => boolean): Generator<string, void> {
    for (let file = files[next]; file !== undefined && isWanted(file); file = files[next]) {
      next += 1;
      yield file;
    }
  };
};

const runAll = async (files: string[], verdicts: Verdict[], signal: AbortSignal): Promise<void> => {
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
  const take = createQueue(files);
  const queues = Array.from({ length: SLOW_AT_ONCE }, (_, index) =>
    take((file) => index < QUICK_AT_ONCE || isSlow(file)),
  );
  try {
    await Promise.all(queues.map((queue) => runSequentially(queue, verdicts, options)));
  } finally {
    await server.stop();
  }
};

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => interrupted.abort());

if (values.one && parts.length === 0) {
  console.error('Name the file to run, such as routers/users: npm run test:one NAME');
  process.exit(1);
}

const { files, areAnyMissing } = await findFiles();
const verdicts: Verdict[] = [];
let outside = 0;
try {
  if (files.length === 0 && !areAnyMissing) throw new Error('No test file matches.');
  if (files.length > 0) await runAll(files, verdicts, interrupted.signal);
} catch (error) {
  console.log(error);
  outside = 1;
}

const sum = (key: 'passed' | 'failed') => verdicts.reduce((total, verdict) => total + verdict[key], 0);
// Files that did not run for any reason count as failed.
const failed = sum('failed') + files.length - verdicts.length + outside;
console.log(`${sum('passed')} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
