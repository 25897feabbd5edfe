import type { InferEntity } from '@mikro-orm/core';
import { LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { Membership } from '../../../entities/client.ts';
import {
  type EndedPart,
  OperationChange,
  type SkippedPart,
  UNDONE_KINDS,
  type UndoablePart,
  type UndoneChange,
} from '../../../entities/operation.ts';
import type { User } from '../../../entities/user.ts';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { type Actor, requireAccessAdmin } from '../access/actor.ts';
import { appAccess } from '../access/visibility.ts';
import { addressKnownTo } from '../accounts/addresses.ts';
import { lockVisibleUser } from '../accounts/user-locks.ts';
import { clientOfRole, idsOf, readOperation, type UndoableChange } from '../audit/operation-log.ts';
import { type RowProblem, rowProblemOf, withCurrentActor } from '../auth/bulk-rows.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { findGrantable } from '../users/app-grants.ts';
import { leaveGroups, lockGroups } from '../users/group-joining.ts';
import { leaveClient, noteLeft } from '../users/member-access.ts';
import { giveBack, groupsAmong } from '../users/offboarding.ts';
import { closeRequestsOf } from '../users/request-closing.ts';
import { updateUser } from '../users/user-update.ts';
import { type LaterChanges, readLaterChanges } from './later-changes.ts';

export { UNDONE_KINDS };

/** The total of all undo requests so far. */
type UndoResult = {
  operation: string;
  reverted: number;
  skipped: (SkippedPart & { email: string })[];
  is_finished: boolean;
};

/** Limit of users per request. */
const MAX_USERS = 1_000;

const changedSince = (by: string | null): RowProblem => ({
  code: 'changed-since',
  detail: `It was changed again after the operation${by === null ? '' : ` by ${by}`}.`,
});

const EXPIRED: RowProblem = { code: 'expired', detail: 'The grant would have ended by now.' };

/** Undoes changes of many users. */
export const createOperations = (unit: UnitOfWork) => {
  const { em, clock, audit, idempotency, staffSecondFactor } = unit;

  /** Locks the user before the change, in the same order as all other transactions that change a user. */
  const undoUser = (actor: Actor, id: string, { email, groups: joined, ended }: Changed): Promise<void> =>
    em.fork().transactional(async (tx) => {
      const parts = ended ?? [];
      const locked = await lockGroups(tx, actor, [...joined, ...groupsAmong(parts)]);
      const user = await lockVisibleUser(tx, actor, email);
      const change = await lockChange(tx, id, user.id);
      if (!change) return; // another request has undone it
      const { membersOf, changedAt } = change;
      const later = await readLaterChanges(tx, actor, {
        operation: id,
        userId: user.id,
        changedAt,
        groups: locked.map((group) => group.id),
      });
      const is_active = (await isAsLeft(tx, user, change, later)) ? !change.isActive : undefined;
      const revoke = change.granted.filter((app) => !later.apps.has(app));
      // Without apps that were removed, or that the actor can no longer manage.
      const { apps } = await findGrantable(tx, actor, change.revoked);
      const grant = apps
        .filter((app) => !later.apps.has(app.id) && !later.clients.has(app.client_id))
        .map((app) => app.id)
        .filter((app) => !hasExpired(change, app, clock.now()));
      const terms = change.revokedTerms ?? {};
      const members_of = membersOf.length > 0 ? membersOf : undefined;
      const changes = { grant, terms, revoke, is_active, members_of, onlyGrants: true, isUndo: true };
      const tagged = audit.withDetails({ operation: id, is_undo: true });
      const unitOfWork = { tx, now: clock.now(), audit: tagged };
      // The rights of those who suspend and offboard.
      const requireMay = change.isActive === null ? undefined : requireAccessAdmin;
      const { undoable } = await updateUser(unitOfWork, actor, email, changes, requireMay);
      const groups = locked.filter((group) => joined.includes(group.id) && !later.groups.has(group.id));
      const left = await leaveGroups(unitOfWork, actor, user, groups);
      const undoing = { ...unitOfWork, staffSecondFactor, endedAt: changedAt };
      const returned = await giveBack({ ...undoing, parts: partsToGiveBack(parts, later) }, actor, user);
      const begun = change.joined.filter((client) => !later.clients.has(client));
      const memberships = await endMemberships(tx, user, begun, clock.now());
      for (const { client_id: clientId } of memberships) await leaveClient(tx, user.id, clientId);
      if (memberships.length > 0) await noteLeft(tx, [user.id]);
      await tagged.record(tx, await closeRequestsOf(tx, actor, user.id, clock.now()));
      const done = { ...undoable, groups: left, ended: returned };
      change.undone = undoneBy(done, change, { by: later.by, now: clock.now() });
      await tx.flush();
    });

  const refuse = (id: string, { user_id: userId }: Changed, problem: RowProblem): Promise<void> =>
    em.fork().transactional(async (tx) => {
      const change = await lockChange(tx, id, userId);
      if (!change) return;
      change.undone = { reverted: 0, skipped: changesIn(change).map((part) => skipped(part, problem)) };
      await tx.flush();
    });

  const undo = async (actor: Actor, id: string): Promise<UndoResult> => {
    await readOperation(em, actor, id, clock.now());
    const users = await changedUsers(em, id);
    for await (const [current, user] of withCurrentActor(em, actor, users))
      await undoUser(current, id, user).catch((error: unknown) => refuse(id, user, rowProblemOf(error)));
    return { operation: id, ...(await readOutcome(em, actor, id)) };
  };

  return {
    /**
     * Reverts changes of the actor's own operation that are still in place, for up to `MAX_USERS` users. A repeat returns the same result,
     * or continues if there are more users or the first request was interrupted.
     * @throws Problem `not-found`, `undo-expired`
     */
    undo: async (actor: Actor, id: string, idempotencyKey: IdempotencyKey | null): Promise<UndoResult> => {
      const request = { actor, idempotencyKey, operation: 'operations.undo', input: id };
      return idempotency.runOnce<UndoResult>(request, async (write) => {
        const result = await undo(actor, id);
        return write(async () => result);
      });
    },
  };
};

/** Users whose change is not undone yet. */
const changedUsers = (em: Em, id: string) =>
  kysely(em)
    .selectFrom('operation_changes as change')
    .innerJoin('users', 'users.id', 'change.user_id')
    .select(['change.user_id', 'users.email', 'change.groups', 'change.ended'])
    .where('change.operation_id', '=', id)
    .where('change.undone', 'is', null)
    .orderBy('change.user_id')
    .limit(MAX_USERS)
    .execute();

type Changed = Awaited<ReturnType<typeof changedUsers>>[number];

/** Locks a change that is not undone yet. */
const lockChange = (tx: Em, id: string, userId: number) =>
  tx.findOne(
    OperationChange,
    { operation: id, user: userId, undone: null },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );

type Change = InferEntity<typeof OperationChange>;

const readOutcome = async (em: Em, actor: Actor, id: string): Promise<Omit<UndoResult, 'operation'>> => {
  const changes = kysely(em)
    .selectFrom('operation_changes as change')
    .innerJoin('users', 'users.id', 'change.user_id')
    .where('change.operation_id', '=', id);
  const { reverted, is_finished } = await changes
    .select([
      sql<number>`coalesce(sum((change.undone ->> 'reverted')::int), 0)::int`.as('reverted'),
      condition`coalesce(bool_and(change.undone is not null), true)`.as('is_finished'),
    ])
    .executeTakeFirstOrThrow();
  const rows = await changes
    .select('change.undone')
    .select(sql<string>`coalesce(${addressKnownTo(actor, sql`change.changed_at`)}, '')`.as('email'))
    .where(condition`json_array_length(change.undone -> 'skipped') > 0`)
    .orderBy('change.user_id')
    .execute();
  const skipped = rows.flatMap(({ email, undone }) =>
    (undone?.skipped ?? []).map((part) => ({ email, ...part })),
  );
  return { reverted, skipped, is_finished };
};

/** Whether the operation was the last one to activate or deactivate the locked user, or the user's memberships. */
const isAsLeft = async (
  tx: Em,
  user: User,
  { isActive, membersOf }: Change,
  later: LaterChanges,
): Promise<boolean> => {
  if (membersOf.length === 0) return user.isActive === isActive && !later.account;
  const memberships = await tx.find(Membership, { user: user.id, client: { $in: membersOf } });
  const areUnchanged = memberships.every((member) => member.isActive === isActive);
  return (
    areUnchanged &&
    memberships.length === membersOf.length &&
    !membersOf.some((client) => later.clients.has(client))
  );
};

/** The parts that an offboarding has ended, without parts that were decided about again. */
const partsToGiveBack = (parts: readonly EndedPart[], later: LaterChanges): EndedPart[] =>
  parts.filter(({ kind, key }) => {
    if (kind === 'group') return !later.groups.has(Number(key));
    if (kind === 'role') return !later.roles;
    return kind !== 'client-role' || !later.clients.has(clientOfRole(key));
  });

/** Ends the memberships that the operation began, except memberships that another app needs by now. */
const endMemberships = (tx: Em, { id }: User, joined: readonly number[], now: Date) =>
  kysely(tx)
    .deleteFrom('memberships as m')
    .where('m.user_id', '=', id)
    .where(isAnyOf('m.client_id', joined, 'int'))
    .where(condition`not exists (select from ${appAccess(now)} g join apps a on a.id = g.app_id
      where g.user_id = m.user_id and a.client_id = m.client_id)`)
    .returning('m.client_id')
    .execute();

/** `key`: the key of a part that an offboarding has ended. */
type Part = UndoablePart & { key?: string };

const appPart = (app_id: string): Part => ({ kind: 'app', app_id, group_id: null });
const groupPart = (group_id: number): Part => ({ kind: 'group', app_id: null, group_id });
const endedPart = ({ kind, key }: EndedPart): Part =>
  kind === 'group' ? { ...groupPart(Number(key)), key } : { kind, app_id: null, group_id: null, key };

const changesIn = ({ granted, revoked, groups, isActive, ended }: Change): Part[] => [
  ...[...granted, ...revoked].map(appPart),
  ...groups.map(groupPart),
  ...(isActive === null ? [] : [{ kind: 'activation', app_id: null, group_id: null } as const]),
  ...(ended ?? []).map(endedPart),
];

const skipped = ({ key: _, ...part }: Part, problem: RowProblem) => ({ ...part, problem });

/** Whether the revoked grant of the app would have ended by now. */
const hasExpired = ({ revokedTerms }: Change, appId: string, now: Date): boolean => {
  const expiresAt = revokedTerms?.[appId]?.expires_at;
  return typeof expiresAt === 'string' && new Date(expiresAt) <= now;
};

const undoneBy = (
  { granted, revoked, isActive, groups = [], ended = [] }: UndoableChange,
  change: Change,
  { by, now }: { by: string | null; now: Date },
): UndoneChange => {
  const apps = new Set(idsOf([...granted, ...revoked]));
  const isReverted = ({ app_id, group_id, kind, key }: Part): boolean => {
    if (key !== undefined) return ended.some((part) => part.kind === kind && part.key === key);
    if (app_id !== null) return apps.has(app_id);
    return group_id === null ? isActive !== null : groups.includes(group_id);
  };
  const changes = changesIn(change);
  const left = changes.filter((part) => !isReverted(part));
  const problemOf = ({ app_id }: Part) =>
    app_id !== null && hasExpired(change, app_id, now) ? EXPIRED : changedSince(by);
  return {
    reverted: changes.length - left.length,
    skipped: left.map((part) => skipped(part, problemOf(part))),
  };
};
