import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { createScaffold } from '../../src/cli/apps.ts';
import { packDirectory, publishPackageFile } from '../../src/services/packages/package-packing.ts';
import { runInProcess } from '../support/commands.ts';
import { makeScratchFolder } from '../support/files.ts';
import { fetchPackage, loadPackage } from '../support/packages.ts';
import { assertRefused } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';
import { appSuite, ROOT } from '../support/test-app.ts';

const scaffold = appSuite('steward apps new');

scaffold('creates a folder that can be packed, published, fetched and loaded unchanged', async ({ app }) => {
  await using folder = await makeScratchFolder();

  const made = await runInProcess(['apps', 'new', 'route-planner'], {}, folder.path);
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

  const { code, stderr } = await runInProcess(['apps', 'new', 'a', '--dir', 'empty'], {}, folder.path);

  assert.is(code, 0, stderr);
  assert.equal((await readdir(folder.join('empty'))).sort(), ['README.md', 'app.yaml', 'stacks']);
});

scaffold('refuses a file or a folder that is not empty, without changing it', async () => {
  await using folder = await makeScratchFolder();
  await mkdir(folder.join('full'));
  await writeFile(folder.join('full', '.keep'), '');
  await writeFile(folder.join('file'), 'mine');

  for (const name of ['full', 'file']) {
    const outcome = await runInProcess(['apps', 'new', name], {}, folder.path);
    assertRefused(outcome, 1);
    assert.is(outcome.stderr, `${name} is there already, and not an empty folder.\n`);
  }
  assert.equal(await readdir(folder.join('full')), ['.keep']);
  assert.is(await readFile(folder.join('file'), 'utf8'), 'mine');
});

scaffold('refuses an invalid slug in one line, and creates nothing', async () => {
  await using folder = await makeScratchFolder();

  for (const name of ['My App', '../evil', 'x'.repeat(65), '']) {
    const outcome = await runInProcess(['apps', 'new', name], {}, folder.path);
    assertRefused(outcome, 1);
    assert.match(outcome.stderr, 'must be 1 to 64 of a-z, 0-9, - and _.');
  }
  assert.equal(await readdir(folder.path), []);
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
    { numRuns: 20 },
  );
});

scaffold.run();

type Context = { folder: Awaited<ReturnType<typeof makeScratchFolder>>; store: { APP_STORE: string } };
const packages = suite<Context>('steward apps pack, publish and list');

packages.before.each(async (context) => {
  context.folder = await makeScratchFolder();
  context.store = { APP_STORE: `file:${context.folder.join('store')}` };
});
packages.after.each(({ folder }) => folder[Symbol.asyncDispose]());

const makeApp = async ({ folder }: Context, manifest: string): Promise<string> => {
  const dir = folder.join('app');
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, 'app.yaml'), manifest);
  return dir;
};

const pack = async (context: Context, slug: string, version: string): Promise<string> => {
  const dir = await makeApp(context, `slug: ${slug}\nversion: ${version}\nlabel: An app\n`);
  const { code, stderr } = await runInProcess(['apps', 'pack', dir], {}, context.folder.path);
  assert.is(code, 0, stderr);
  return context.folder.join(`${slug}-${version}.tgz`);
};

packages('names the files that pack excludes', async (context) => {
  const dir = await makeApp(context, 'slug: sales\nversion: 1.0.0\nlabel: Sales\n');
  for (let count = 10; count < 32; count += 1) await writeFile(join(dir, `.env.${count}`), '');
  await mkdir(join(dir, '.git'));

  const { code, stdout, stderr } = await runInProcess(['apps', 'pack', dir, '--out', context.folder.path]);

  assert.is(code, 0, stderr);
  assert.match(stdout, /^\S+sales-1\.0\.0\.tgz\n\d+ bytes, SHA-256 [0-9a-f]{64}\n$/);
  assert.match(stderr, /^Excluded: "\.env\.10" .* "\.env\.29" and 3 more\n$/);
});

packages('refuses a folder without app.yaml, no name of a folder, and a wrong manifest', async (context) => {
  const { folder } = context;
  const unparsable = await makeApp(context, 'slug: sales\nversion: [\n');
  for (const name of ['sound', 'invalid']) await createScaffold(name, folder.join(name));
  await writeFile(folder.join('invalid', 'app.yaml'), 'slug: Not A Slug\nversion: one\n');

  for (const [args, line] of [
    [['nofolder'], /^There is no app\.yaml in nofolder that is a file and can be read\.\n$/],
    [['sound', '--out', ''], /^The name of a folder is empty\.\n$/],
    [[unparsable], /app\.yaml is not valid YAML at line \d/],
    [['invalid'], /slug.*version.*label/s],
  ] as const) {
    const outcome = await runInProcess(['apps', 'pack', ...args], {}, folder.path);
    assertRefused(outcome, 1);
    assert.match(outcome.stderr, line);
  }
});

packages('publishes no file that is missing, has another name, or is no archive', async (context) => {
  const { folder, store } = context;
  await writeFile(folder.join('sales.zip'), 'text');
  await writeFile(folder.join('sales-1.0.0.tgz'), 'text');

  for (const [name, reason] of [
    ['sales-2.0.0.tgz', /^\S+sales-2\.0\.0\.tgz cannot be read\.\n$/],
    ['sales.zip', /sales\.zip/],
    ['sales-1.0.0.tgz', /\S/],
  ] as const) {
    const outcome = await runInProcess(['apps', 'publish', folder.join(name)], store);
    assertRefused(outcome, 1);
    assert.match(outcome.stderr, reason);
  }
});

packages('lists slugs in order, with the newest version first', async (context) => {
  const { store } = context;
  const empty = await runInProcess(['apps', 'list'], store);
  const none = await runInProcess(['apps', 'list', '--json'], store);
  for (const [slug, version] of [
    ['routes', '1.9.0'],
    ['routes', '1.10.0'],
    ['routes', '1.10.0-rc.1'],
    ['fleet-2', '0.1.0'],
  ] as const) {
    const file = await pack(context, slug, version);
    const { code, stdout, stderr } = await runInProcess(['apps', 'publish', file], store);
    assert.equal([code, stderr], [0, '']);
    assert.match(stdout, /^Published \S+ \S+\nSHA-256 [0-9a-f]{64}\n$/);
  }

  const all = await runInProcess(['apps', 'list'], store);
  const one = await runInProcess(['apps', 'list', 'fleet-2', '--json'], store);
  const unknown = await runInProcess(['apps', 'list', 'fleet'], store);

  assert.equal([empty.code, empty.stdout, JSON.parse(none.stdout)], [0, 'There are no packages.\n', []]);
  const lines = ['fleet-2  0.1.0', 'routes   1.10.0', 'routes   1.10.0-rc.1', 'routes   1.9.0'];
  assert.is(all.stdout, `${lines.join('\n')}\n`);
  assert.equal(JSON.parse(one.stdout), [{ slug: 'fleet-2', version: '0.1.0' }]);
  assertRefused(unknown, 1);
  assert.is(unknown.stderr, 'The store has no package of an app fleet.\n');
});

packages('publishes the same bytes again, and refuses others under the same name', async (context) => {
  const { store } = context;
  const publish = ['apps', 'publish', await pack(context, 'routes', '1.9.0')];
  await runInProcess(publish, store);
  const same = await runInProcess(publish, store);
  await writeFile(context.folder.join('app', 'more.txt'), 'more');
  await pack(context, 'routes', '1.9.0');
  const other = await runInProcess(publish, store);

  assert.is(same.code, 0, same.stderr);
  assert.match(same.stdout, /^routes 1\.9\.0 is already in the store, with the same bytes\nSHA-256 /);
  assertRefused(other, 1);
  assert.match(other.stderr, 'routes-1.9.0.tgz is in the store already with other bytes');
});

packages.run();
