import type { InferEntity } from '@mikro-orm/core';
import { App, type FetchedPackage, LoadedPackage } from '../../../entities/app.ts';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { newAppId, newStackId } from '../../lib/ids.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import type { Actor } from '../access/actor.ts';
import { schemaOf } from '../attributes/attribute-schema.ts';
import { updateDeclaredKeys } from '../attributes/declared-keys.ts';
import { namesOf } from '../attributes/effective-values.ts';
import { type Audit, type Changes, ofApp } from '../audit/audit.ts';
import { editEntity } from '../audit/edits.ts';
import { PackageManifest } from './package-manifest.ts';
import { requirePersonas } from './package-personas.ts';
import { invalidPackage } from './package-rules.ts';

/** Limits of a log line; the audit trail has everything. */
const MAX_NAMES = 20;
const MAX_TEXT_LENGTH = 60;

/** The changes of a load or a rollback; `from` is null if the app had no package. */
export type PackageChanges = {
  version: { from: string | null; to: string };
  columns: Changes;
  stacks: StackChanges;
};

type Load = {
  app: LoadableApp;
  fetched: InferEntity<typeof FetchedPackage>;
  actor: Actor;
  audit: Audit;
  now: Date;
  isRollback: boolean;
};

/**
 * Applies a package to an app. Returns the changes, or null if the app already runs this package.
 * @throws Problem `invalid-package` if the package names another client than the app's
 */
export const applyPackage = async (tx: Em, load: Load): Promise<PackageChanges | null> => {
  const { app, fetched, actor, audit, now, isRollback } = load;
  const { version, sha256 } = fetched;
  const before = app.packageInfo;
  if (before.version === version && before.sha256 === sha256) return null;
  const manifest = PackageManifest.parse(fetched.manifest);
  requireClient(app, manifest);
  const { attributes, personas } = manifest;
  if (!isRollback) requirePersonas(attributes ? schemaOf(JSON.stringify(attributes)) : null, personas);
  const { offered, changes: stacks } = await replaceStacks(tx, app.id, manifest.stacks);
  const { label, description, help_html, footer_html, show_help, show_footer, launch_url, view_as } =
    manifest;
  const set = { label, description, help_html, footer_html, show_help, show_footer, launch_url, view_as };
  const columns = { ...editEntity(tx, App, app, set), ...setDeclarations(app, manifest) };
  const times = { fetched_at: fetched.fetchedAt.toISOString(), loaded_at: now.toISOString() };
  app.packageInfo = { version, ...times, sha256, stacks: offered };
  await tx.flush();
  if ('attributes' in columns) await updateDeclaredKeys(tx, app.client.id);
  tx.create(LoadedPackage, { app, package: fetched, loadedAt: now, loadedBy: actor.email, isRollback });
  await tx.flush();

  const changes = { version: { from: before.version ?? null, to: version }, columns, stacks };
  const action = isRollback ? 'app.rollback-package' : 'app.load-package';
  const details = { version: changes.version, ...columns, stacks };
  await audit.record(tx, [{ action, actor, target: ofApp(app), clients: [app.client.id], details }]);
  return changes;
};

/** Sets what the package declares for grants. Returns the changes by names: a schema is too large for the audit trail. */
const setDeclarations = (app: LoadableApp, { roles, ...manifest }: PackageManifest): Changes => {
  const before = { attributes: app.attributes ?? null, roles: app.appRoles };
  const attributes = manifest.attributes ?? null;
  app.attributes = attributes;
  app.appRoles = roles;
  const changed: Changes = {};
  if (canonicalJson(before.attributes) !== canonicalJson(attributes))
    changed.attributes = {
      from: namesOf(before.attributes?.properties as object),
      to: namesOf(attributes?.properties),
    };
  if (canonicalJson(before.roles) !== canonicalJson(roles))
    changed.roles = {
      from: before.roles.map(({ key }) => key).join(', '),
      to: roles.map(({ key }) => key).join(', '),
    };
  return changed;
};

/** Otherwise, a publisher of one client could take over the app of another client by its slug. */
const requireClient = ({ slug, client: { id } }: LoadableApp, { client }: PackageManifest): void => {
  if (client === undefined || client === id) return;
  throw invalidPackage(`app.yaml names client ${client}, but the app ${slug} is client ${id}'s.`);
};

/** One line for the log: `sales 1.1.0 (was 1.0.0): label "Sales" → "Sales live", stacks + forecast`. */
export const describeChanges = (slug: string, { version, columns, stacks }: PackageChanges): string => {
  const parts = [
    ...Object.entries(columns).map(
      ([name, { from, to }]) => `${name} ${abbreviate(from)} → ${abbreviate(to)}`,
    ),
    ...listNames('stacks +', stacks.added),
    ...listNames('stacks −', stacks.removed),
    ...listNames(
      'stacks renamed',
      stacks.renamed.map(({ slug: stack, to }) => `${stack} → ${abbreviate(to)}`),
    ),
  ];
  const before = version.from === null ? 'the first' : `was ${version.from}`;
  return `${slug} ${version.to} (${before}): ${parts.join(', ') || 'nothing else changed'}`;
};

const listNames = (title: string, names: readonly string[]): string[] => {
  if (names.length === 0) return [];
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return [`${title} ${names.slice(0, MAX_NAMES).join(' ')}${more}`];
};

const abbreviate = (value: unknown): string => {
  const text = String(value);
  const cut = text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH).toWellFormed()}…` : text;
  return typeof value === 'string' ? JSON.stringify(cut) : cut;
};

type LoadableApp = InferEntity<typeof App>;

/** Locks the app, so that a load reports exactly what it changed. */
export const lockApp = async (tx: Em, slug: string): Promise<LoadableApp | null> => {
  await kysely(tx).selectFrom('apps').select('id').where('slug', '=', slug).forNoKeyUpdate().execute();
  return tx.findOne(App, { slug });
};

/**
 * Creates an app that is empty until its package is applied.
 * @throws Problem `invalid-package`
 */
export const createApp = async (
  tx: Em,
  { slug, manifest }: Load['fetched'],
  host: string,
  now: Date,
): Promise<LoadableApp> => {
  const client = await clientOfNewApp(tx, PackageManifest.parse(manifest).client, host);
  const app = tx.create(App, { id: newAppId(), slug, client, label: '', createdAt: now });
  await tx.flush();
  return app;
};

/** The client that the package names; otherwise the client of the requested host; otherwise the client of the first site. */
const clientOfNewApp = async (tx: Em, named: number | undefined, host: string): Promise<number> => {
  const clients = kysely(tx)
    .selectFrom('clients')
    .innerJoin('sites', 'sites.id', 'clients.site_id')
    .select('clients.id')
    .orderBy((eb) => eb('sites.domain', '=', host), 'desc')
    .orderBy('sites.id')
    .limit(1);
  const wanted = named === undefined ? clients : clients.where('clients.id', '=', named);
  const client = await wanted.executeTakeFirst();
  if (client) return client.id;
  throw invalidPackage(
    named === undefined
      ? 'There is no client that the app could belong to.'
      : `app.yaml names client ${named}, which does not exist.`,
  );
};

type OfferedStack = { id: string; slug: string; label: string };

/** By slug. A stack that was removed and returns counts as added. */
type StackChanges = {
  added: string[];
  renamed: { slug: string; from: string; to: string }[];
  removed: string[];
};

/**
 * Replaces the stacks of an app by the stacks of its package. A stack that the package no longer has is not offered any more, but keeps its
 * row, because saved filters belong to it; if it returns, it has the same id.
 */
const replaceStacks = async (tx: Em, appId: string, wanted: PackageManifest['stacks']) => {
  const existing = new Map((await stacksOf(tx, appId)).map((stack) => [stack.slug, stack]));
  const offered = await withIds(tx, wanted, existing);
  const kept = offered.map(({ id }) => id);
  await kysely(tx)
    .updateTable('stacks')
    .set({ is_offered: false })
    .where('app_id', '=', appId)
    .where('is_offered', '=', true)
    .where(condition`id <> all(${kept}::varchar[])`)
    .execute();
  if (offered.length > 0)
    await kysely(tx)
      .insertInto('stacks')
      .values(offered.map((stack) => ({ ...stack, app_id: appId, is_offered: true })))
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet((eb) => ({ label: eb.ref('excluded.label'), is_offered: true })),
      )
      .execute();
  return { offered, changes: compareStacks(offered, existing) };
};

const stacksOf = (tx: Em, appId: string) =>
  kysely(tx)
    .selectFrom('stacks')
    .select(['id', 'slug', 'label', 'is_offered'])
    .where('app_id', '=', appId)
    .orderBy('slug')
    .execute();

type Known = ReadonlyMap<string, Awaited<ReturnType<typeof stacksOf>>[number]>;

/** Ids have 32 random bits, so a platform with many stacks has collisions: then all new ids are drawn again. */
const withIds = async (
  tx: Em,
  wanted: PackageManifest['stacks'],
  existing: Known,
): Promise<OfferedStack[]> => {
  for (;;) {
    const stacks = wanted.map(({ slug, label }) => ({
      id: existing.get(slug)?.id ?? newStackId(),
      slug,
      label,
    }));
    const drawn = stacks.filter(({ slug }) => !existing.has(slug)).map(({ id }) => id);
    const isDrawn = isAnyOf('id', drawn, 'varchar');
    const taken = await kysely(tx).selectFrom('stacks').select('id').where(isDrawn).execute();
    if (taken.length === 0 && new Set(drawn).size === drawn.length) return stacks;
  }
};

const compareStacks = (offered: readonly OfferedStack[], existing: Known): StackChanges => {
  const before = new Map([...existing].filter(([, stack]) => stack.is_offered));
  const changes: StackChanges = { added: [], renamed: [], removed: [] };
  for (const { slug, label } of offered) {
    const from = before.get(slug)?.label;
    if (from === undefined) changes.added.push(slug);
    else if (from !== label) changes.renamed.push({ slug, from, to: label });
    before.delete(slug);
  }
  changes.removed.push(...before.keys());
  return changes;
};
