import { spawn } from 'node:child_process';
import { cp, glob, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import fc from 'fast-check';

/**
 * Mutation test: `npm run test:mutations -- --count 60 --seed 1 --only src/services/users`. Changes one place of the sources at a time, in a copy of the
 * checkout, and runs the tests until the first failure. A mutant that survives is equivalent, or shows a rule without a test.
 */
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
});

const PROJECT = join(import.meta.dirname, '..');
const SOURCES = '{routers,src/services,src/http}/**/*.ts';
const NOT_COPIED = /^\/(\.git|\.steward|node_modules|dist)(\/|$)/;
/** Comments, imports and types, whose changes no test can see. */
const SKIPPED = /^\s*(\*|\/\/|\/\*|import |export type |type )/;

const MUTATIONS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/ === /g, ' !== '],
  [/ !== /g, ' === '],
  [/ && /g, ' || '],
  [/ \|\| /g, ' && '],
  [/ < /g, ' <= '],
  [/ \+ /g, ' - '],
  [/\btrue\b/g, 'false'],
  [/\bfalse\b/g, 'true'],
  [/\bif \(!/g, 'if ('],
  [/\bthrow new /g, 'void new '],
  [/\bis not null\b/g, 'is null'],
  [/\bis null\b/g, 'is not null'],
  [/ and /g, ' or '],
  // A call whose result is not used, such as `await audit.record(…);`.
  [/^\s+(await )?[\w.]+\(.*\);$/g, ''],
];

type Mutant = { file: string; line: number; before: string; after: string };

const findMutants = async (): Promise<Mutant[]> => {
  const mutants: Mutant[] = [];
  for (const file of (await Array.fromAsync(glob(SOURCES, { cwd: PROJECT }))).sort()) {
    if (!file.includes(values.only) || file.includes('openapi/')) continue;
    const lines = (await readFile(join(PROJECT, file), 'utf8')).split('\n');
    for (const [line, before] of lines.entries()) {
      if (SKIPPED.test(before)) continue;
      for (const [pattern, replacement] of MUTATIONS) {
        for (const { index, 0: found } of before.matchAll(pattern)) {
          const after = before.slice(0, index) + replacement + before.slice(index + found.length);
          mutants.push({ file, line, before, after });
        }
      }
    }
  }
  return mutants;
};

/** Runs a command in the copy; true if it succeeds. It is stopped at the first test file that fails. */
const succeeds = (cwd: string, command: string, args: string[]): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (/^FAIL/m.test(text)) child.kill('SIGTERM');
    });
    child.once('error', reject);
    child.once('close', (code) => resolve(code === 0));
  });

const copy = await mkdtemp(join(tmpdir(), 'steward-mutants-'));
try {
  const filter = (path: string) => !NOT_COPIED.test(path.slice(PROJECT.length));
  await cp(PROJECT, copy, { recursive: true, filter });
  await symlink(join(PROJECT, 'node_modules'), join(copy, 'node_modules'));
  const passes = () => succeeds(copy, process.execPath, ['tests/run.ts']);
  if (!(await passes())) throw new Error('The tests fail without a mutation.');
  const sample = fc.sample(fc.constantFrom(...(await findMutants())), {
    numRuns: Number(values.count),
    seed: Number(values.seed),
  });
  let survivors = 0;
  for (const [index, { file, line, before, after }] of sample.entries()) {
    const original = await readFile(join(PROJECT, file), 'utf8');
    await writeFile(join(copy, file), original.split('\n').with(line, after).join('\n'));
    const survives = (await passes()) && (await succeeds(copy, 'node_modules/.bin/tsc', ['--noEmit']));
    await writeFile(join(copy, file), original);
    survivors += survives ? 1 : 0;
    console.log(
      `${index + 1} ${survives ? 'SURVIVED' : 'detected'} ${file}:${line + 1}\n  - ${before.trim()}\n  + ${after.trim()}`,
    );
  }
  console.log(`${survivors} of ${values.count} mutants survived.`);
} finally {
  await rm(copy, { recursive: true, force: true });
}
