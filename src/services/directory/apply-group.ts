import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { ScimProblem } from '../../lib/scim/scim-problem.ts';
import type { Transaction } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { createGroups } from '../users/groups.ts';
import { type ActingDirectory, GROUP_STEP, GROUP_TABLES, type GroupChange } from './directory-rows.ts';
import { syncMembers } from './members.ts';

/**
 * Makes a group of the client as the directory states it, in the transaction of `unit.em`.
 * @param people the people to add and remove; default: all
 * @throws ScimProblem `uniqueness`
 */
export const applyGroup = async (
  unit: UnitOfWork,
  directory: ActingDirectory,
  id: string,
  people?: readonly string[],
): Promise<void> => {
  const { em: tx, clock, audit } = unit;
  const { client, actor } = directory;
  const groups = createGroups(unit);
  const group = await lockGroup(tx, id);
  if (!group) return;
  const { change, own_id: ownId, own_name: ownName, display_name: name } = group;
  switch (change) {
    case 'remove':
      if (group.is_adopted) await withdraw({ tx, now: clock.now(), audit }, directory, id);
      else if (ownId !== null) await groups.remove(actor, client, ownId);
      break;
    case 'create':
      await link(tx, id, {
        group_id: (await groups.create(actor, client, { name, members: [], apps: [] })).id,
      });
      break;
    case 'adopt':
      await link(tx, id, { group_id: ownId, is_adopted: true });
      if (ownId !== null && ownName !== name) await groups.update(actor, client, ownId, { name });
      break;
    default:
  }
  if (group.is_removed) {
    await kysely(tx).deleteFrom('directory_groups').where('id', '=', id).execute();
    return;
  }
  if (change === 'update' && ownId !== null)
    await groups.update(actor, client, ownId, { name }).catch(rethrowAsTaken);
  // A due group may have members of before.
  const isWhole = change === 'create' || change === 'adopt' || people === undefined || group.due_at !== null;
  const extent = isWhole ? { group: id } : { group: id, people };
  if (isWhole || people.length > 0) await syncMembers({ tx, now: clock.now(), audit }, directory, extent);
  if (group.due_at !== null || group.problem !== null)
    await kysely(tx)
      .updateTable('directory_groups')
      .set({ due_at: null, problem: null })
      .where('id', '=', id)
      .execute();
};

const rethrowAsTaken = (error: unknown): never => {
  if (error instanceof Problem && error.fields?.name)
    throw new ScimProblem('uniqueness', 'displayName: another group of this client has this name.');
  throw error;
};

const link = (tx: Em, id: string, columns: { group_id: number | null; is_adopted?: boolean }) =>
  kysely(tx).updateTable('directory_groups').set(columns).where('id', '=', id).execute();

/** A group that existed before the directory stays, without its people. */
const withdraw = async (transaction: Transaction, directory: ActingDirectory, id: string): Promise<void> => {
  const { tx } = transaction;
  await kysely(tx).updateTable('directory_groups').set({ is_removed: false }).where('id', '=', id).execute();
  await kysely(tx).deleteFrom('directory_members').where('group_id', '=', id).execute();
  await syncMembers(transaction, directory, { group: id });
};

type LockedGroup = {
  change: GroupChange | null;
  display_name: string;
  is_removed: boolean;
  is_adopted: boolean;
  due_at: Date | null;
  problem: string | null;
  own_id: number | null;
  own_name: string | null;
};

const lockGroup = async (tx: Em, id: string): Promise<LockedGroup | undefined> => {
  await kysely(tx).selectFrom('directory_groups').select('id').where('id', '=', id).forUpdate().execute();
  const { rows } = await sql<LockedGroup>`
    select ${GROUP_STEP} as change, g.display_name, g.is_removed, g.is_adopted, g.due_at, g.problem, own.id as own_id, own.name as own_name
    from ${GROUP_TABLES} where g.id = ${id}`.execute(kysely(tx));
  return rows[0];
};
