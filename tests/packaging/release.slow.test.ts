import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findObstacles, type ReleaseState } from '../../packaging/release-checks.ts';
import { makeScratchFolder } from '../support/files.ts';

const run = promisify(execFile);
const SCRIPT = join(import.meta.dirname, '../../packaging/release.ts');
const PROJECT = join(import.meta.dirname, '../..');

const CHANGELOG = `# Changelog

## [Unreleased]

## [1.2.0] - 2026-01-31

### Added

- Something.

## [1.1.0] - 2026-01-01

- Older.
`;
const READY: ReleaseState = {
  version: '1.2.0',
  otherVersions: { 'packaging/client/package.json': '1.2.0' },
  lockVersion: '1.2.0',
  changelog: CHANGELOG,
  changes: '',
  tags: ['v1.1.0'],
};

const release = suite('npm run release');

release('accepts a clean checkout with a section for the version', () => {
  assert.equal(findObstacles(READY), []);
});

for (const [what, change, expected] of [
  ['uncommitted changes', { changes: ' M README.md' }, 'uncommitted changes:\n M README.md'],
  ['a version that is not semantic', { version: '1.2' }, '1.2 is not a semantic version'],
  [
    'a client of another version',
    { otherVersions: { 'c/package.json': '1.1.0' } },
    'c/package.json: the version is 1.1.0',
  ],
  ['a lock file of another version', { lockVersion: '1.1.0' }, 'package-lock.json: the version is 1.1.0'],
  ['a version that is tagged', { tags: ['v1.2.0'] }, 'The tag v1.2.0 exists'],
  ['a version older than the last', { tags: ['v1.10.0'] }, 'v1.10.0 is newer than 1.2.0'],
  ['no section', { changelog: '# Changelog\n' }, 'there is no section "## [1.2.0] - DATE"'],
  [
    'a section without a date',
    { changelog: CHANGELOG.replace('1.2.0] - 2026-01-31', '1.2.0]') },
    'has no date',
  ],
  ['an empty section', { changelog: CHANGELOG.replace('- Something.\n', '') }, 'section of 1.2.0 is empty'],
  [
    'entries that are unreleased',
    { changelog: CHANGELOG.replace('[Unreleased]\n', '[Unreleased]\n\n- New.\n') },
    '"Unreleased" still has entries',
  ],
] as const) {
  release(`refuses ${what}`, () => {
    const tags = 'tags' in change ? { tags: [...change.tags] } : {};

    assert.match(findObstacles({ ...READY, ...change, ...tags } as ReleaseState).join('\n'), expected);
  });
}

release('the changelog of this checkout has sections for the current version and what follows', async () => {
  const { version } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8'));
  const changelog = await readFile(join(PROJECT, 'CHANGELOG.md'), 'utf8');

  assert.match(changelog, /^## \[Unreleased\]$/m);
  assert.match(changelog, `\n## [${version}]`);
});

/** A small project with the scripts that a release runs. */
const makeProject = async (scripts: Record<string, string>) => {
  const folder = await makeScratchFolder();
  const manifest = {
    name: 'small',
    version: '1.2.0',
    files: ['x'],
    workspaces: ['packaging/client'],
    scripts,
  };
  await mkdir(folder.join('packaging/client'), { recursive: true });
  await mkdir(folder.join('tests/upgrade'), { recursive: true });
  await writeFile(folder.join('tests/upgrade/previous-version.json'), '{}\n');
  await writeFile(folder.join('package.json'), JSON.stringify(manifest));
  await writeFile(
    folder.join('packaging/client/package.json'),
    '{"name": "small-client", "version": "1.2.0"}',
  );
  await writeFile(folder.join('package-lock.json'), '{"name": "small", "version": "1.2.0"}');
  await writeFile(folder.join('CHANGELOG.md'), CHANGELOG);
  await writeFile(folder.join('.gitignore'), 'release/\nran\nnode_modules\n');
  await symlink(join(PROJECT, 'node_modules'), folder.join('node_modules'));
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: folder.path });
  await git('init', '--quiet');
  await git('add', '.');
  await git('commit', '--quiet', '-m', 'first');
  const start = () =>
    run(process.execPath, [SCRIPT], { cwd: folder.path }).then(
      ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        stdout,
        stderr,
      }),
    );
  return { folder, git, start, [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
};

const TESTS = { test: 'echo quick >> ran', 'test:slow': 'echo slow >> ran' };

release('runs all tests, packs both packages with checksums, and neither tags nor pushes', async () => {
  await using project = await makeProject(TESTS);

  const { code, stdout, stderr } = await project.start();

  assert.is(code, 0, stderr);
  assert.is(await readFile(project.folder.join('ran'), 'utf8'), 'quick\nslow\n');
  assert.equal((await readdir(project.folder.join('release'))).sort(), [
    'SHA256SUMS',
    'small-1.2.0.tgz',
    'small-client-1.2.0.tgz',
  ]);
  await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: project.folder.join('release') });
  assert.match(stdout, 'git tag -a v1.2.0');
  assert.is((await project.git('tag')).stdout, '');
});

release('makes this commit the version from which the next upgrade is tested', async () => {
  await using project = await makeProject(TESTS);

  const { code, stderr } = await project.start();

  assert.is(code, 0, stderr);
  const commit = (await project.git('rev-parse', 'HEAD')).stdout.trim();
  const written = await readFile(project.folder.join('tests/upgrade/previous-version.json'), 'utf8');
  assert.equal(JSON.parse(written), { name: 'v1.2.0', commit });
  assert.is((await project.git('status', '--porcelain')).stdout, ' M tests/upgrade/previous-version.json\n');
});

for (const [what, scripts] of [
  ['tests that fail', { ...TESTS, test: 'exit 1' }],
  ['tests that change a file', { ...TESTS, 'test:slow': 'echo x >> CHANGELOG.md' }],
] as const) {
  release(`packs nothing after ${what}`, async () => {
    await using project = await makeProject(scripts);

    const { code } = await project.start();

    assert.is(code, 1);
    assert.not((await readdir(project.folder.path)).includes('release'));
  });
}

release('refuses a dirty checkout before it runs a test', async () => {
  await using project = await makeProject(TESTS);
  await writeFile(project.folder.join('new'), '');

  const { code, stderr } = await project.start();

  assert.is(code, 1);
  assert.match(stderr, /uncommitted changes:\n\?\? new/);
  assert.not((await readdir(project.folder.path)).includes('ran'));
});

release.run();
