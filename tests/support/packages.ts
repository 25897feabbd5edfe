import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { Header, type HeaderData, Pax } from 'tar';
import * as assert from 'uvu/assert';
import { stringify } from 'yaml';
import type { PackageStore, StoredPackage } from '../../src/adapters/package-store/package-store.ts';
import { Problem, type ProblemCode } from '../../src/lib/problems.ts';
import { createAudit, NO_ORIGIN } from '../../src/services/audit/audit.ts';
import { createAppPackages } from '../../src/services/packages/app-packages.ts';
import { inspectPackage } from '../../src/services/packages/package-inspection.ts';
import { makeScratchFolder } from './files.ts';
import { STAFF, type TestApp } from './test-app.ts';

export const END = Buffer.alloc(1024);

type Entry = HeaderData & { path: string; body?: string | Buffer };

/** One entry of a tar stream, written exactly as described, so that tests can build invalid ones. */
export const tarEntry = ({ body = '', ...data }: Entry): Buffer => {
  const content = Buffer.from(body);
  const header = new Header({ type: 'File', mode: 0o644, size: content.length, ...data });
  header.encode();
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([header.block ?? Buffer.alloc(0), content, padding]);
};

/** A pax header for the next entry, or for all that follow. */
export const paxHeader = (data: HeaderData, isGlobal = false): Buffer => new Pax(data, isGlobal).encode();

export const manifestText = (lines: Record<string, string> = {}): string =>
  Object.entries({ slug: 'sales', version: '1.0.0', label: 'Sales', ...lines })
    .map(([key, value]) => `${key}: ${value}\n`)
    .join('');

export const manifestEntry = (lines?: Record<string, string>): Buffer =>
  tarEntry({ path: 'app.yaml', body: manifestText(lines) });

/** The gzipped archive of some entries, preceded by a valid manifest unless another one is given. */
export const packageOf = (entries: Buffer[] = [], manifest: Buffer = manifestEntry()): Buffer =>
  gzipSync(Buffer.concat([manifest, ...entries, END]));

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A package as a store opens it. Its chunks of 1,000 bytes never coincide with the blocks of tar. */
export const stored = (bytes: Buffer, claims: Partial<StoredPackage> = {}): StoredPackage => {
  const chunks = function* () {
    for (let start = 0; start < bytes.length; start += 1000) yield bytes.subarray(start, start + 1000);
  };
  return { body: Readable.from(chunks()), sizeBytes: bytes.length, sha256: sha256(bytes), ...claims };
};

/** The Problem that a promise is rejected with. Fails if it is fulfilled or rejected with anything else. */
export const problemOf = async (
  attempt: Promise<unknown>,
  code: ProblemCode = 'invalid-package',
): Promise<Problem> => {
  const [outcome] = await Promise.allSettled([attempt]);
  if (outcome.status === 'fulfilled') throw new Error('it should have been refused');
  if (!(outcome.reason instanceof Problem)) throw outcome.reason;
  assert.is(outcome.reason.code, code);
  return outcome.reason;
};

/** Asserts that the package is refused with a message that matches. */
export const refuses = async (attempt: Promise<unknown>, detail: RegExp): Promise<void> => {
  assert.match((await problemOf(attempt)).message, detail);
};

export type OddEntry = HeaderData & { path: string; body?: string };

/** Inspects these bytes as `sales` 1.0.0. */
export const inspect = (bytes: Buffer, claims = {}) =>
  inspectPackage(stored(bytes, claims), { slug: 'sales', version: '1.0.0' });

/** Inspects a good package with one more entry. */
export const inspectEntry = (entry: OddEntry) => inspect(packageOf([tarEntry(entry)]));

type Content = {
  slug: string;
  version: string;
  label?: string;
  launch_url?: string;
  /** By slug. */
  stacks?: Record<string, string>;
  client?: number;
  help_html?: string;
  /** Content of a second file in the package. */
  note?: string;
};

/** Publishes a package with this content. */
export const publish = async ({ store }: { store: PackageStore }, { note = '', ...content }: Content) => {
  const { slug, version, label = slug, stacks = {}, ...more } = content;
  const list = Object.entries(stacks).map(([stack, name]) => ({ slug: stack, label: name }));
  const body = stringify({ slug, version, label, stacks: list, ...more });
  await using folder = await makeScratchFolder();
  const file = folder.join('package.tgz');
  await writeFile(
    file,
    packageOf([tarEntry({ path: 'note', body: note })], tarEntry({ path: 'app.yaml', body })),
  );
  // `return await`, because the folder is removed when this function returns.
  return await store.publish(slug, version, file);
};

export const fetchPackage = (app: TestApp, app_slug: string, app_version?: string) =>
  app.as(STAFF).appPackages.fetch({ app_slug, app_version });

export const loadPackage = (app: TestApp, app_slug: string) => app.as(STAFF).appPackages.load({ app_slug });

/** Publishes, fetches and loads it. */
export const install = async (app: TestApp, content: Content): Promise<void> => {
  await publish(app, content);
  await fetchPackage(app, content.slug, content.version);
  await loadPackage(app, content.slug);
};

/** The app package service as a staff user, with a store or log of the test. */
export const staffPackages = async (
  app: TestApp,
  { store = app.store, log = [] }: { store?: PackageStore; log?: string[] },
) => {
  const { clock } = app;
  const logger = { info: (_fields: unknown, line?: string) => log.push(line ?? '') };
  const audit = createAudit(NO_ORIGIN, clock);
  const { idempotency, authentication } = app.openServices();
  const packages = createAppPackages({
    em: app.orm.em.fork(),
    clock,
    store,
    audit,
    origin: NO_ORIGIN,
    logger,
    idempotency,
  });
  const actor = await authentication.findByToken(await app.tokenOf(STAFF));
  if (!actor) throw new Error('the token is not known');
  return {
    fetch: (slug: string, version?: string) => packages.fetch(actor, slug, version, null),
    load: (slug: string) => packages.load(actor, slug, 'localhost:8000'),
    rollback: (slug: string, version?: string) => packages.rollback(actor, slug, version),
  };
};
