import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { newStackId } from '../../lib/ids.ts';
import type { PackageManifest } from './package-manifest.ts';

type OfferedStack = { id: string; slug: string; label: string };

/** By slug. A stack that was removed and returns counts as added. */
export type StackChanges = {
  added: string[];
  renamed: { slug: string; from: string; to: string }[];
  removed: string[];
};

/**
 * Replaces the stacks of an app by those of its package. A stack that the package no longer has is not offered any more, but
 * keeps its row, because saved filters belong to it; if it returns, it has the same id.
 */
export const replaceStacks = async (tx: Db, appId: string, wanted: PackageManifest['stacks']) => {
  const existing = new Map((await stacksOf(tx, appId)).map((stack) => [stack.slug, stack]));
  const offered = await withIds(tx, wanted, existing);
  const kept = offered.map(({ id }) => id);
  await tables(tx)
    .updateTable('stacks')
    .set({ is_offered: false })
    .where('app_id', '=', appId)
    .where('is_offered', '=', true)
    .where(sql<boolean>`id <> all(${kept}::varchar[])`)
    .execute();
  if (offered.length > 0)
    await tables(tx)
      .insertInto('stacks')
      .values(offered.map((stack) => ({ ...stack, app_id: appId, is_offered: true })))
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet((eb) => ({ label: eb.ref('excluded.label'), is_offered: true })),
      )
      .execute();
  return { offered, changes: compareStacks(offered, existing) };
};

const stacksOf = (tx: Db, appId: string) =>
  tables(tx)
    .selectFrom('stacks')
    .select(['id', 'slug', 'label', 'is_offered'])
    .where('app_id', '=', appId)
    .orderBy('slug')
    .execute();

type Known = ReadonlyMap<string, Awaited<ReturnType<typeof stacksOf>>[number]>;

/** Ids have 32 random bits, so collisions happen on a platform with many stacks: then all new ids are drawn again. */
const withIds = async (
  tx: Db,
  wanted: PackageManifest['stacks'],
  existing: Known,
): Promise<OfferedStack[]> => {
  const stacks = wanted.map(({ slug, label }) => ({
    id: existing.get(slug)?.id ?? newStackId(),
    slug,
    label,
  }));
  const drawn = stacks.filter(({ slug }) => !existing.has(slug)).map(({ id }) => id);
  return (await areFree(tx, drawn)) ? stacks : withIds(tx, wanted, existing);
};

const areFree = async (tx: Db, ids: readonly string[]): Promise<boolean> => {
  if (ids.length === 0) return true;
  const taken = await tables(tx).selectFrom('stacks').select('id').where('id', 'in', ids).execute();
  return taken.length === 0 && new Set(ids).size === ids.length;
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
