import { sql } from 'kysely';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { invalid, notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { ofUser } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { lockFilter, ownFilter, requireUsableStack } from './saved-filters.ts';

/** `client`: with all who may open the app. `groups`: with the members of these groups of its client. */
type Sharing = { client: boolean; groups: number[] };

/** With whom the actor shares own filters. */
export const createFilterSharing = ({ em, clock, audit }: UnitOfWork) => ({
  /** @throws Problem `not-found` */
  get: (actor: Actor, hash: string): Promise<Sharing> => readSharing(em, actor, hash),

  /** @throws Problem `not-found`, `invalid-input` on `groups`, or on `stack_id` if the actor can no longer open the app */
  set: (actor: Actor, hash: string, { client, groups }: Sharing): Promise<Sharing> =>
    em.transactional(async (tx) => {
      const filter = await lockFilter(tx, actor, hash);
      await requireUsableStack(tx, actor, clock.now(), filter.stack.id);
      const clientId = await clientOf(tx, filter.stack.id);
      await requireSharable(tx, actor, { id: filter.id, clientId, groups });
      filter.isShared = client;
      await tx.flush();
      await setGroups(tx, filter.id, groups);
      const details = { id: filter.id, client, groups };
      const about = { actor, target: ofUser(actor), clients: [clientId] };
      await audit.record(tx, [{ action: 'saved-filter.share', ...about, details }]);
      return readSharing(tx, actor, hash);
    }),
});

/** @throws Problem `not-found` */
const readSharing = async (em: Em, actor: Actor, hash: string): Promise<Sharing> => {
  const { id, is_shared } = await ownFilter(em, actor, hash)
    .select(['saved_filters.id', 'saved_filters.is_shared'])
    .executeTakeFirstOrThrow(() => notFound('saved filter'));
  const groups = await kysely(em)
    .selectFrom('saved_filter_groups')
    .select('group_id')
    .where('saved_filter_id', '=', id)
    .orderBy('group_id')
    .execute();
  return { client: is_shared, groups: groups.map(({ group_id }) => group_id) };
};

const clientOf = async (em: Em, stackId: string): Promise<number> => {
  const { client_id } = await kysely(em)
    .selectFrom('stacks')
    .innerJoin('apps', 'apps.id', 'stacks.app_id')
    .select('client_id')
    .where('stacks.id', '=', stackId)
    .executeTakeFirstOrThrow();
  return client_id;
};

/**
 * Requires groups of the client that the actor belongs to or manages. Groups that have the filter already may stay. Locks them, so that they
 * cannot be removed before the commit.
 * @throws Problem `invalid-input` on `groups`, with an error for each other group
 */
const requireSharable = async (
  tx: Em,
  actor: Actor,
  { id, clientId, groups }: { id: number; clientId: number; groups: readonly number[] },
): Promise<void> => {
  const found = await kysely(tx)
    .selectFrom('groups')
    .select('id')
    .where('client_id', '=', clientId)
    .where(isAnyOf('id', groups, 'int'))
    .where(
      condition`(${can(actor, 'manage-people', clientId)}::boolean
        or exists (select from group_members gm where gm.group_id = groups.id and gm.user_id = ${actor.id})
        or exists (select from saved_filter_groups s where s.group_id = groups.id and s.saved_filter_id = ${id}))`,
    )
    .orderBy('id')
    .forKeyShare()
    .execute();
  const sharable = new Set(found.map((group) => group.id));
  const others = groups.filter((group) => !sharable.has(group));
  if (others.length > 0)
    throw invalid({
      groups: others.map((group) => `You do not belong to a group ${group} of the app’s client.`),
    });
};

const setGroups = async (tx: Em, id: number, groups: readonly number[]): Promise<void> => {
  const db = kysely(tx);
  await db
    .deleteFrom('saved_filter_groups')
    .where('saved_filter_id', '=', id)
    .where(condition`group_id <> all(${[...groups]}::int[])`)
    .execute();
  await sql`insert into saved_filter_groups (saved_filter_id, group_id)
    select ${id}::int, unnest(${[...groups]}::int[]) on conflict do nothing`.execute(db);
};
