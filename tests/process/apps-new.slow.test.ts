import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createScaffold } from '../../src/cli/apps.ts';
import { packDirectory, publishPackageFile } from '../../src/services/packages/package-packing.ts';
import { makeScratchFolder } from '../support/files.ts';
import { fetchPackage, loadPackage } from '../support/packages.ts';
import { assertRefused, runCommand } from '../support/service-process.ts';
import { appSuite, ROOT } from '../support/test-app.ts';

const scaffold = appSuite('steward apps new');

scaffold('creates a folder that can be packed, published, fetched and loaded unchanged', async ({ app }) => {
  await using folder = await makeScratchFolder();

  const made = await runCommand(['apps', 'new', 'route-planner'], {}, folder.path);
  const { file, version } = await packDirectory(folder.join('route-planner'), folder.path);
  await publishPackageFile(app.store, file);
  await fetchPackage(app, 'route-planner');
  await loadPackage(app, 'route-planner');
  const loaded = (await app.as(ROOT).apps.list({})).find(({ slug }) => slug === 'route-planner');

  assert.is(made.code, 0, made.stderr);
  assert.equal(made.stdout.trimEnd().split('\n'), [
    'route-planner/app.yaml',
    'route-planner/README.md',
    'route-planner/stacks/overview/index.html',
    'Next: steward apps pack route-planner',
  ]);
  assert.is(loaded?.label, 'Route planner');
  assert.is(loaded?.package_info.version, version);
  assert.match(await readFile(folder.join('route-planner', 'README.md'), 'utf8'), /^# Route planner\n/);
});

scaffold('accepts an empty folder, and the folder of --dir', async () => {
  await using folder = await makeScratchFolder();
  await mkdir(folder.join('empty'));

  const { code, stderr } = await runCommand(['apps', 'new', 'a', '--dir', 'empty'], {}, folder.path);

  assert.is(code, 0, stderr);
  assert.equal((await readdir(folder.join('empty'))).sort(), ['README.md', 'app.yaml', 'stacks']);
});

scaffold('refuses a file or a folder that is not empty, without changing it', async () => {
  await using folder = await makeScratchFolder();
  await mkdir(folder.join('full'));
  await writeFile(folder.join('full', '.keep'), '');
  await writeFile(folder.join('file'), 'mine');

  for (const name of ['full', 'file']) {
    const outcome = await runCommand(['apps', 'new', name], {}, folder.path);
    assertRefused(outcome, 1);
    assert.is(outcome.stderr, `${name} is there already, and not an empty folder.\n`);
  }
  assert.equal(await readdir(folder.join('full')), ['.keep']);
  assert.is(await readFile(folder.join('file'), 'utf8'), 'mine');
});

scaffold('refuses an invalid slug in one line, and creates nothing', async () => {
  await using folder = await makeScratchFolder();

  for (const name of ['My App', '../evil', 'x'.repeat(65), '']) {
    const outcome = await runCommand(['apps', 'new', name], {}, folder.path);
    assertRefused(outcome, 1);
    assert.match(outcome.stderr, 'must be 1 to 64 of a-z, 0-9, - and _.');
  }
  assert.equal(await readdir(folder.path), []);
});

scaffold('names a folder that cannot be created in one line', async () => {
  await using folder = await makeScratchFolder();
  await symlink('nowhere', folder.join('dangling'));

  for (const [dir, reason] of [
    ['/proc/x', 'The folder /proc/x cannot be created: the file system does not allow it.'],
    ['dangling', 'The folder dangling cannot be created: a file or a broken link has this name.'],
    ['', 'The name of a folder is empty.'],
  ] as const) {
    const outcome = await runCommand(['apps', 'new', 'x', '--dir', dir], {}, folder.path);
    assertRefused(outcome, 1);
    assert.is(outcome.stderr, `${reason}\n`);
  }
  assert.equal(await readdir(folder.path), ['dangling']);
});

scaffold('accepts every slug, such as numbers, keywords and dashes', async () => {
  await using folder = await makeScratchFolder();
  const odd = fc.constantFrom('1', '0x1', 'true', 'null', 'no', '-', '---', '_', '1e5', '-a', 'y');
  let count = 0;

  await fc.assert(
    fc.asyncProperty(fc.oneof(odd, fc.stringMatching(/^[a-z0-9_-]{1,64}$/)), async (slug) => {
      count += 1;
      const dir = folder.join(String(count));
      await createScaffold(slug, dir);
      assert.is((await packDirectory(dir, folder.join('packed'))).slug, slug);
    }),
    { numRuns: 40 },
  );
});

scaffold.run();
