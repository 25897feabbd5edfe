import { createHash, randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import * as assert from 'uvu/assert';
import {
  createPackageStore,
  openFolder,
  type PackageStore,
  versionTaken,
} from '../../src/adapters/package-store/package-store.ts';
import { packageFileName, parsePackageFileName, requirePackageFileName } from '../../src/lib/package-name.ts';
import { makeScratchFolder } from './files.ts';
import { refuses, sha256 } from './packages.ts';
import { suiteWith } from './suite.ts';

export const createFolderPackageStore = ({ dir }: { dir: string }): PackageStore =>
  createPackageStore(openFolder(dir));

/** A package store in memory. */
export const createMemoryPackageStore = (): PackageStore => {
  const packages = new Map<string, { bytes: Buffer; sha256: string }>();

  const list = async () => [...packages.keys()].flatMap((name) => parsePackageFileName(name) ?? []);

  return {
    list,

    versions: async (slug) =>
      (await list()).filter((found) => found.slug === slug).map(({ version }) => version),

    open: async (slug, version) => {
      const found = packages.get(packageFileName(slug, version) ?? '');
      if (!found) return null;
      // In an array: a bare Buffer would be iterated byte by byte.
      const body = Readable.from([found.bytes], { objectMode: false });
      return { body, sizeBytes: found.bytes.length, sha256: found.sha256 };
    },

    publish: async (slug, version, file) => {
      const name = requirePackageFileName(slug, version);
      const bytes = await readFile(file);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const taken = packages.get(name);
      if (taken && taken.sha256 !== sha256) throw versionTaken(name);
      packages.set(name, { bytes, sha256 });
      return { sha256, sizeBytes: bytes.length, isNew: taken === undefined };
    },
  };
};

export const ONE = Buffer.from('one');
export const TWO = Buffer.from('two');

/** Source files to publish. The caller disposes of them. */
export const makeSources = async () => {
  const folder = await makeScratchFolder();
  /** A path at which no file exists. */
  const fresh = (): string => folder.join(randomUUID());
  return {
    fresh,
    fileOf: async (bytes: Buffer): Promise<string> => {
      const file = fresh();
      await writeFile(file, bytes);
      return file;
    },
    [Symbol.asyncDispose]: folder[Symbol.asyncDispose],
  };
};

/** The hash of `sales` 1.0.0, or null if the store does not have it. */
export const openedHash = async (packages: PackageStore): Promise<string | null> => {
  const opened = await packages.open('sales', '1.0.0');
  opened?.body.destroy();
  return opened?.sha256 ?? null;
};

/** Publishes a file while a reader polls. */
export const publishBeforeReader = async (packages: PackageStore, file: string): Promise<void> => {
  let isDone = false;
  const publishing = packages.publish('sales', '1.0.0', file).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    const listed = await packages.versions('sales');
    const opened = await packages.open('sales', '1.0.0');
    if (listed.length > 0) assert.ok(opened);
    if (opened) assert.is(sha256(await buffer(opened.body)), opened.sha256);
  }
  await publishing;
};

/** Makes an empty store. */
type CreateStore = () => PackageStore | Promise<PackageStore>;

/** The contract of every package store. */
export const testPackageStore = (name: string, createStore: CreateStore) => {
  const store = suiteWith(`${name} package store`, async (started) => ({
    sources: started.use(await makeSources()),
  }));

  store('opens what was published, with its size and hash', async ({ sources }) => {
    const packages = await createStore();

    const published = await packages.publish('sales', '1.0.0', await sources.fileOf(ONE));
    const opened = await packages.open('sales', '1.0.0');

    assert.equal(published, { sha256: sha256(ONE), sizeBytes: 3, isNew: true });
    assert.ok(opened);
    assert.equal(await buffer(opened.body), ONE);
    assert.equal([opened.sizeBytes, opened.sha256], [3, sha256(ONE)]);
  });

  store('lists the versions of a slug, not those of a longer one', async ({ sources }) => {
    const packages = await createStore();
    const file = await sources.fileOf(ONE);
    for (const version of ['1.0.0', '1.1.0-beta.1', '2.0.0+build.5'])
      await packages.publish('a', version, file);
    await packages.publish('a-1', '3.0.0', file);

    assert.equal((await packages.versions('a')).sort(), ['1.0.0', '1.1.0-beta.1', '2.0.0+build.5']);
    assert.equal(await packages.versions('a-1'), ['3.0.0']);
    assert.equal(await packages.versions('b'), []);
  });

  store('lists every package', async ({ sources }) => {
    const packages = await createStore();
    const file = await sources.fileOf(ONE);
    const named = [
      { slug: '-', version: '2.0.0-1.0.0' },
      { slug: 'a', version: '1.0.0' },
      { slug: 'a', version: '1.0.0+build.5' },
      { slug: 'a-1', version: '1.0.0' },
    ];
    for (const { slug, version } of named) await packages.publish(slug, version, file);

    const listed = await packages.list();

    const key = (found: { slug: string; version: string }) => `${found.slug} ${found.version}`;
    assert.equal(listed.map(key).sort(), named.map(key).sort());
  });

  store('refuses to publish under an invalid name, and finds nothing there', async ({ sources }) => {
    const packages = await createStore();

    assert.equal(await packages.versions('../sales'), []);
    assert.is(await packages.open('../sales', '1.0.0'), null);
    assert.is(await packages.open('sales', '1.0.0/../../x'), null);
    const file = await sources.fileOf(ONE);
    await refuses(packages.publish('Sales', '1.0.0', file), /cannot name a package/);
    await refuses(packages.publish('sales', 'v1.0.0', file), /cannot name a package/);
  });

  store('accepts the same bytes again as not new, and refuses different ones', async ({ sources }) => {
    const packages = await createStore();
    const first = await packages.publish('sales', '1.0.0', await sources.fileOf(ONE));

    assert.equal(await packages.publish('sales', '1.0.0', await sources.fileOf(ONE)), {
      ...first,
      isNew: false,
    });
    await refuses(packages.publish('sales', '1.0.0', await sources.fileOf(TWO)), /other bytes/);

    const opened = await packages.open('sales', '1.0.0');
    assert.equal(opened && (await buffer(opened.body)), ONE);
  });

  store('lets exactly one of 20 concurrent publishers of different bytes win', async ({ sources }) => {
    const packages = await createStore();
    const contents = Array.from({ length: 20 }, (_, i) => Buffer.from(`content ${i}`));
    const files = await Promise.all(contents.map(sources.fileOf));

    const outcomes = await Promise.allSettled(files.map((file) => packages.publish('sales', '1.0.0', file)));

    const results = outcomes.map((one) => (one.status === 'fulfilled' ? 'won' : one.reason.code));
    const winner = outcomes.find((one) => one.status === 'fulfilled')?.value.sha256;
    const opened = await packages.open('sales', '1.0.0');
    assert.equal(results.sort(), [...Array(19).fill('invalid-package'), 'won']);
    assert.is(opened?.sha256, winner);
    assert.is(opened && sha256(await buffer(opened.body)), winner);
  });

  store.run();
};

/** Valid and invalid contents of the checksum file of `sales-1.0.0.tgz`, which contains the bytes of ONE. */
export const CHECKSUM_FORMS: [what: string, text: string, isValid: boolean][] = [
  ['text mode', `${sha256(ONE)}  sales-1.0.0.tgz\n`, true],
  ['binary mode', `${sha256(ONE)} *sales-1.0.0.tgz\n`, true],
  ['nothing', '', false],
  ['too few digits', `${sha256(ONE).slice(1)}  sales-1.0.0.tgz\n`, false],
];
