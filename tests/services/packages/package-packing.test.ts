import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as tar from 'tar';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inspectPackage } from '../../../src/services/packages/package-inspection.ts';
import { packDirectory, publishPackageFile } from '../../../src/services/packages/package-packing.ts';
import { writeFiles } from '../../support/files.ts';
import { createMemoryPackageStore } from '../../support/package-stores.ts';
import { manifestText, packageOf, problemOf, refuses, sha256, tarEntry } from '../../support/packages.ts';

const root = await mkdtemp(join(tmpdir(), 'steward-test-'));
const fresh = (): string => join(root, randomUUID());

const APP: Record<string, string | Buffer> = {
  'app.yaml': manifestText(),
  'pages/index.html': '<h1>Sales</h1>',
  'pages/été/données.csv': 'a,b\n',
  'empty.txt': '',
  '@at': 'a name that some packers take for an archive',
  [`${'long/'.repeat(50)}name`]: 'deep',
  [`${'long'.repeat(40)}.txt`]: 'a name that fits no plain tar header',
  'noise.bin': randomBytes(100_000),
};

const folderOf = async (files: Record<string, string | Buffer> = APP): Promise<string> => {
  const dir = fresh();
  await writeFiles(dir, files);
  return dir;
};

const packing = suite('packDirectory');

packing('writes a package with every file, which passes inspection', async () => {
  const out = fresh();

  const packed = await packDirectory(await folderOf(), out);

  const bytes = await readFile(packed.file);
  assert.equal(packed, {
    file: join(out, 'sales-1.0.0.tgz'),
    slug: 'sales',
    version: '1.0.0',
    sha256: sha256(bytes),
    sizeBytes: bytes.length,
    leftOut: [],
  });
  assert.equal(await readdir(out), ['sales-1.0.0.tgz']);
  const unpacked = fresh();
  await mkdir(unpacked);
  await tar.extract({ file: packed.file, cwd: unpacked, strict: true });
  for (const [path, content] of Object.entries(APP)) {
    assert.equal(await readFile(join(unpacked, path)), Buffer.from(content), path);
  }
});

packing('writes the same bytes for the same files, independent of time, folder and user', async () => {
  const [first, second] = [
    await folderOf(),
    await folderOf(Object.fromEntries(Object.entries(APP).reverse())),
  ];
  await utimes(join(second, 'app.yaml'), 1, 1);
  await chmod(join(second, 'noise.bin'), 0o600);

  const one = await packDirectory(first, fresh());
  const two = await packDirectory(second, fresh());

  assert.is(one.sha256, two.sha256);
});

packing('excludes its own output in the packed folder', async () => {
  const dir = await folderOf();
  const packed: string[] = [];

  await packDirectory(dir, dir);
  const { file } = await packDirectory(dir, dir);

  await tar.list({ file, onReadEntry: ({ path }) => packed.push(path) });
  assert.equal(packed, Object.keys(APP).sort());
});

packing('refuses links and special files, naming the first', async () => {
  const dir = await folderOf();
  await symlink('/etc/passwd', join(dir, 'pages', 'secret'));
  await refuses(
    packDirectory(dir, fresh()),
    /"pages\/secret" is a symbolic link: a package holds files only/,
  );

  const linked = await folderOf();
  await symlink('pages', join(linked, 'again'));
  await refuses(packDirectory(linked, fresh()), /"again" is a symbolic link/);

  const piped = await folderOf();
  await promisify(execFile)('mkfifo', [join(piped, 'pipe')]);
  await refuses(packDirectory(piped, fresh()), /"pipe" is neither a file nor a folder/);
});

packing('refuses a folder without a valid app.yaml', async () => {
  await refuses(packDirectory(await folderOf({ a: 'b' }), fresh()), /no app\.yaml in/);
  await refuses(packDirectory(fresh(), fresh()), /no app\.yaml in/);

  const problem = await problemOf(packDirectory(await folderOf({ 'app.yaml': 'slug: a' }), fresh()));
  assert.equal(Object.keys(problem.fields ?? {}), ['version', 'label']);
});

packing.run();

const publishing = suite('publishPackageFile');

publishing('publishes a packed folder, which passes inspection', async () => {
  const store = createMemoryPackageStore();
  const { file, leftOut: _none, ...packed } = await packDirectory(await folderOf(), fresh());

  assert.equal(await publishPackageFile(store, file), { ...packed, isNew: true });

  const opened = await store.open('sales', '1.0.0');
  assert.ok(opened);
  assert.is((await inspectPackage(opened, packed)).sha256, packed.sha256);
});

publishing('publishes no package that a fetch would refuse', async () => {
  const store = createMemoryPackageStore();
  const dir = await folderOf({
    'sales-1.0.0.tgz': packageOf([tarEntry({ path: '../evil' })]),
    'sales-2.0.0.tgz': packageOf(),
    'package.tgz': packageOf(),
  });
  const publish = (name: string) => publishPackageFile(store, join(dir, name));

  await refuses(publish('sales-1.0.0.tgz'), /leads out of it/);
  await refuses(publish('sales-2.0.0.tgz'), /version 1\.0\.0 instead of 2\.0\.0/);
  await refuses(publish('package.tgz'), /not named \{slug\}-\{version\}\.tgz/);
  await refuses(publish('sales-3.0.0.tgz'), /cannot be read/);
  await refuses(
    publishPackageFile(store, join(await folderOf({ 'sales-4.0.0.tgz/x': '' }), 'sales-4.0.0.tgz')),
    /not a file/,
  );

  assert.equal(await store.versions('sales'), []);
});

publishing.after(() => rm(root, { recursive: true }));
publishing.run();
