import { type Changes, diffColumns } from '../audit/changes.ts';
import { type LoadableApp, MANIFEST_COLUMNS, packagedColumns } from './loadable-app.ts';
import type { PackageManifest } from './package-manifest.ts';
import type { StackChanges } from './package-stacks.ts';

/** More than anyone reads in a line of a log; the audit trail has all. */
const MAX_NAMES = 20;
const MAX_TEXT_LENGTH = 60;

/** What a load or a rollback has changed; `from` is null in an app that had no package. */
export type PackageChanges = {
  version: { from: string | null; to: string };
  columns: Changes;
  stacks: StackChanges;
};

export const packageChanges = (
  app: LoadableApp,
  manifest: PackageManifest,
  stacks: StackChanges,
): PackageChanges => ({
  version: { from: app.package_info.version ?? null, to: manifest.version },
  columns: diffColumns(app, packagedColumns(manifest), MANIFEST_COLUMNS),
  stacks,
});

/** As the audit trail keeps it: what `app.update` would tell, beside the version and the stacks. */
export const detailsOf = ({ version, columns, stacks }: PackageChanges): Record<string, unknown> => ({
  version,
  ...columns,
  stacks,
});

/** `sales 1.1.0 (was 1.0.0): label "Sales" → "Sales live", stacks + forecast`, for people. */
export const describeChanges = (slug: string, { version, columns, stacks }: PackageChanges): string => {
  const parts = [
    ...Object.entries(columns).map(([name, { from, to }]) => `${name} ${shown(from)} → ${shown(to)}`),
    ...named('stacks +', stacks.added),
    ...named('stacks −', stacks.removed),
    ...named(
      'stacks renamed',
      stacks.renamed.map(({ slug: stack, to }) => `${stack} → ${shown(to)}`),
    ),
  ];
  const before = version.from === null ? 'the first' : `was ${version.from}`;
  return `${slug} ${version.to} (${before}): ${parts.join(', ') || 'nothing else changed'}`;
};

const named = (title: string, names: readonly string[]): string[] => {
  if (names.length === 0) return [];
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return [`${title} ${names.slice(0, MAX_NAMES).join(' ')}${more}`];
};

const shown = (value: unknown): string => {
  const text = String(value);
  const cut = text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH).toWellFormed()}…` : text;
  return typeof value === 'string' ? JSON.stringify(cut) : cut;
};
