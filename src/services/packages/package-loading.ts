import { type Db, tables } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { type Audit, type Changes, diffColumns } from '../audit/audit.ts';
import type { FetchedPackage } from './fetched-packages.ts';
import { type LoadableApp, MANIFEST_COLUMNS } from './loadable-app.ts';
import { PackageManifest } from './package-manifest.ts';
import { invalidPackage } from './package-rules.ts';
import { replaceStacks, type StackChanges } from './package-stacks.ts';

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
  slug: string;
  app: LoadableApp;
  fetched: FetchedPackage;
  actor: Actor;
  audit: Audit;
  now: Date;
  isRollback: boolean;
};

/**
 * Applies a package to an app. Returns the changes, or null if the app already runs this package.
 * @throws Problem `invalid-package` if the package names another client than the app's
 */
export const applyPackage = async (tx: Db, load: Load): Promise<PackageChanges | null> => {
  const { slug, app, fetched, actor, audit, now, isRollback } = load;
  const { version, sha256 } = fetched;
  if (app.package_info.version === version && app.package_info.sha256 === sha256) return null;
  const manifest = PackageManifest.parse(fetched.manifest);
  requireClient(slug, app, manifest);
  const { offered, changes: stacks } = await replaceStacks(tx, app.id, manifest.stacks);
  const { label, description, help_html, footer_html, show_help, show_footer, launch_url } = manifest;
  const columns = { label, description, help_html, footer_html, show_help, show_footer, launch_url };
  const times = { fetched_at: fetched.fetched_at.toISOString(), loaded_at: now.toISOString() };
  const packageInfo = { version, ...times, sha256, stacks: offered };
  await tables(tx)
    .updateTable('apps')
    .set({ ...columns, package_info: packageInfo })
    .where('id', '=', app.id)
    .execute();
  const loaded = { loaded_at: now, loaded_by: actor.email, is_rollback: isRollback };
  await tables(tx)
    .insertInto('loaded_packages')
    .values({ app_id: app.id, package_id: fetched.id, ...loaded })
    .execute();

  const changes = {
    version: { from: app.package_info.version ?? null, to: version },
    columns: diffColumns(app, columns, MANIFEST_COLUMNS),
    stacks,
  };
  const action = isRollback ? 'app.rollback-package' : 'app.load-package';
  const details = { version: changes.version, ...changes.columns, stacks };
  await audit.record(tx, [{ action, actor, target: slug, clients: [app.client_id], details }]);
  return changes;
};

/** Otherwise a publisher of one client could take over the app of another by its slug. */
const requireClient = (slug: string, app: LoadableApp, { client }: PackageManifest): void => {
  if (client === undefined || client === app.client_id) return;
  throw invalidPackage(`app.yaml names client ${client}, but the app ${slug} is client ${app.client_id}'s.`);
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
