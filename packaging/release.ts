import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findObstacles } from './release-checks.ts';

/**
 * `npm run release` prepares the version of package.json: checks, runs all tests, and packs into `release/`. It publishes
 * and pushes nothing. Runs in the current folder, as npm scripts do.
 */
const FOLDER = 'release';
/** Names the version that the tests of upgrades start from. */
const PREVIOUS = 'tests/upgrade/previous-version.json';
const WORKSPACES = ['.', 'packaging/client'];

type Manifest = { name: string; version: string };

const readJson = (file: string): Manifest => JSON.parse(readFileSync(file, 'utf8'));

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();

const run = (command: string, ...args: string[]): void => {
  console.log(`> ${[command, ...args].join(' ')}`);
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) fail([`${command} ${args.join(' ')} failed.`]);
};

const fail = (lines: readonly string[]): never => {
  console.error(lines.join('\n'));
  process.exit(1);
};

const pack = (folder: string): string => {
  const packing = [
    'pack',
    '--json',
    '--pack-destination',
    FOLDER,
    ...(folder === '.' ? [] : ['--workspace', folder]),
  ];
  const output = execFileSync('npm', packing, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  const [, name = ''] = /"filename": "([^"]+)"/.exec(output) ?? [];
  return name;
};

const { version } = readJson('package.json');
const tag = `v${version}`;
const obstacles = findObstacles({
  version,
  otherVersions: Object.fromEntries(
    WORKSPACES.slice(1).map((folder) => [
      `${folder}/package.json`,
      readJson(`${folder}/package.json`).version,
    ]),
  ),
  lockVersion: readJson('package-lock.json').version,
  changelog: readFileSync('CHANGELOG.md', 'utf8'),
  changes: git('status', '--porcelain'),
  tags: git('tag', '--list').split('\n'),
});
if (obstacles.length > 0) fail(obstacles);

run('npm', 'test');
run('npm', 'run', 'test:slow');
// Tests must not have changed what is released.
if (git('status', '--porcelain') !== '') fail(['The tests changed files of the checkout.']);

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER);
const files = WORKSPACES.map(pack);
const sums = files.map((name) => {
  const digest = createHash('sha256')
    .update(readFileSync(join(FOLDER, name)))
    .digest('hex');
  return `${digest}  ${name}\n`;
});
writeFileSync(join(FOLDER, 'SHA256SUMS'), sums.join(''));
const previous = { name: tag, commit: git('rev-parse', 'HEAD') };
writeFileSync(PREVIOUS, `${JSON.stringify(previous, null, 2)}\n`);
console.log(
  `Packed ${files.join(', ')} into ${FOLDER}/. Next: git tag -a ${tag} -m ${tag}, then git commit ${PREVIOUS}, which now names ${tag}, and push both.`,
);
