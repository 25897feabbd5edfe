import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, glob, mkdtempDisposable, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import fc from 'fast-check';

/**
 * Mutation test: `npm run test:mutations -- --count 60 --seed 1 --only 'src/services/users/*'`. Changes one place of the
 * sources at a time, in a copy of the checkout, and runs the tests until the first failure. A mutant that survives is
 * equivalent, or shows a rule without a test: read it. If more than half survive, the tests do not see the code: they fail.
 */
const { count, seed, only } = parseArgs({
  options: {
    count: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '{routers,src/services,src/http}/**/*.ts' },
  },
}).values;

const PROJECT = join(import.meta.dirname, '..');
const isCopied = (path: string) =>
  !/^(\.git|\.steward|node_modules|dist)(\/|$)/.test(relative(PROJECT, path));
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

await using root = await mkdtempDisposable(join(tmpdir(), 'steward-mutants-'));
const copy = join(root.path, 'checkout');
/** Some tests run programs as another user. */
await chmod(root.path, 0o755);
/** Killed test processes leave temporary files, which are removed with the copy. */
process.env.TMPDIR = root.path;
const stop = new AbortController();
const { signal } = stop;
for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => stop.abort());

/** Runs a program in the copy until its end, or the first test file that fails. @returns its output if it fails */
const findFailure = async (program: string, args: string[]): Promise<string | undefined> => {
  const child = spawn(program, args, { cwd: copy, signal, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (/^FAIL tests/m.test(output)) child.kill();
  });
  const [code] = await once(child, 'close');
  return code === 0 ? undefined : output.replace(/^.*?(?=^FAIL tests)/ms, '') || 'no output';
};

const detect = async (...options: string[]) =>
  (await findFailure(process.execPath, ['tests/run.ts', ...options])) ??
  (await findFailure('node_modules/.bin/tsc', ['--noEmit']));

const findMutants = async (file: string) => {
  const lines = (await readFile(join(copy, file), 'utf8')).split('\n');
  return lines.flatMap((before, line) =>
    (SKIPPED.test(before) ? [] : MUTATIONS).flatMap(([pattern, replacement]) =>
      Array.from(before.matchAll(pattern), ({ index, 0: found }) => {
        const after = before.slice(0, index) + replacement + before.slice(index + found.length);
        return { file, lines, line, before, after };
      }),
    ),
  );
};

await cp(PROJECT, copy, { recursive: true, filter: isCopied });
await symlink(join(PROJECT, 'node_modules'), join(copy, 'node_modules'));
const failure = await detect();
if (failure) throw new Error(`The checks fail without a mutation.\n${failure}`);
const sources = await Array.fromAsync(glob(only, { cwd: copy, exclude: ['**/openapi'] }));
const mutants = (await Promise.all(sources.sort().map(findMutants))).flat();
const sample = fc.sample(fc.constantFrom(...mutants), { numRuns: Number(count), seed: Number(seed) });
let survivors = 0;
for (const { file, lines, line, before, after } of sample) {
  await writeFile(join(copy, file), lines.with(line, after).join('\n'));
  const names = [basename(file, '.ts'), basename(dirname(file)), 'routers', 'services', 'http'];
  const reason = await detect(...names.map((name) => `--first=/${name}`));
  await writeFile(join(copy, file), lines.join('\n'));
  survivors += reason ? 0 : 1;
  // The reason shows whether the mutant was detected or the machine was too slow for a time limit.
  const report = [`${file}:${line + 1}`, `- ${before.trim()}`, `+ ${after.trim()}`, reason ?? 'SURVIVED'];
  console.log(report.join('\n').split('\n', 9).join('\n    '));
}
console.log(`${survivors} of ${sample.length} mutants survived.`);
const failed = survivors > sample.length / 2 ? survivors : 0;
console.log(`${sample.length - survivors} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
