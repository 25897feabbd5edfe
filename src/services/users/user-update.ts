import { Membership } from '../../../entities/client.ts';
import { User } from '../../../entities/user.ts';
import { clientIdsOf, type Em } from '../../db/kysely.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import { Problem } from '../../lib/problems.ts';
import {
  type Actor,
  administersClient,
  isSharedUser,
  requireAccessAdmin,
  requireUserUpdatable,
  seesAccounts,
} from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import { can } from '../access/permissions.ts';
import { type AuditEvent, type Changes, diffColumns, isEmpty, ofUser } from '../audit/audit.ts';
import { revokeCredentials } from '../auth/credentials.ts';
import { editEntity, requireExpected } from '../edits.ts';
import type { UndoableChange } from '../operations/operation-log.ts';
import { enqueueJoinNotices, enqueueReactivationNotice } from '../passwords/password-expiry.ts';
import type { Transaction, UnitOfWork } from '../unit-of-work.ts';
import {
  type AppChanges,
  changeAccess,
  grantEvents,
  type KnownApp,
  planApps,
  readKnownApps,
  visibleApps,
} from './app-grants.ts';
import { endMemberAccess } from './member-access.ts';
import { closeRequestsOf } from './request-closing.ts';
import { lockUser, lockVisibleUser, requireAnotherSuperuser } from './user-locks.ts';
import { readUser, rowOfUser, type UserDetail } from './user-rows.ts';

/** The columns that an update sets as they are sent. */
const PROFILE_FIELDS = ['first_name', 'last_name', 'extra', 'is_demo_user'] as const;

/** Those whose values the audit trail records. Of others, which are personal or may be large, it records only that they changed. */
const RECORDED_FIELDS: readonly string[] = ['is_demo_user'];

type ProfileField = (typeof PROFILE_FIELDS)[number];
/** What callers may send. */
export type ChangedField = ProfileField | 'is_active' | 'apps';

export type UserChanges = AppChanges & { [K in ProfileField | 'is_active']?: UserDetail[K] | undefined } & {
  /** Of an undo, which does not reactivate the memberships with the account. */
  isUndo?: boolean;
  /** Changes the memberships in these clients instead of the account. */
  members_of?: readonly number[] | undefined;
  /** What the caller has read of the user: the update fails if it has changed. */
  expected?: { [K in keyof UserDetail]?: UserDetail[K] | undefined } | undefined;
};

type UserUpdate = { user: UserDetail; isChanged: boolean; undoable: UndoableChange };

export const createUserUpdates = ({ em, clock, audit }: Pick<UnitOfWork, 'em' | 'clock' | 'audit'>) => ({
  /** @throws as `updateUser` */
  update: (actor: Actor, email: string, changes: UserChanges): Promise<UserDetail> =>
    em.transactional(
      async (tx) => (await updateUser({ tx, now: clock.now(), audit }, actor, email, changes)).user,
    ),

  /**
   * Deactivates a user, or suspends a shared user in the clients of the actor.
   * @throws Problem `not-found`, `forbidden`, `self-modification`, `last-superuser`
   */
  deactivate: (actor: Actor, email: string): Promise<void> =>
    em.transactional(async (tx) => {
      const deps = { tx, now: clock.now(), audit };
      await updateUser(deps, actor, email, { is_active: false }, requireAccessAdmin);
    }),
});

/** What people change of their own account. */
type ProfileChanges = {
  [K in 'first_name' | 'last_name' | 'profile_color' | 'profile_avatar']?: UserDetail[K] | undefined;
};

export const createProfiles = ({ em, clock, audit }: Pick<UnitOfWork, 'em' | 'clock' | 'audit'>) => ({
  update: (actor: Actor, changes: ProfileChanges): Promise<UserDetail> =>
    em.transactional(async (tx) => {
      const user = await lockVisibleUser(tx, actor, actor.email);
      const details = recordedValues(editEntity(tx, User, user, changes));
      await tx.flush();
      if (!isEmpty(details)) {
        const clients = await clientIdsOf(tx, user.id);
        await audit.record(tx, [{ action: 'user.update', actor, target: ofUser(user), clients, details }]);
      }
      return readUser(tx, actor, clock.now(), user.email);
    }),
});

/**
 * Changes a user: lock, check, change, record. The result is computed from what was read instead of being read again. Of a user whose
 * account was shared, admins of clients change the memberships in their clients only. Free-form data belongs to memberships in any case.
 * @param requireMay who may change the user
 * @throws Problem `not-found`, `forbidden`, `shared-user`, `client-admin-locked`, `self-modification`, `last-superuser`,
 * `precondition-failed`, `invalid-input` on `apps`
 */
export const updateUser = async (
  { tx, now, audit }: Transaction,
  actor: Actor,
  email: string,
  changes: UserChanges,
  requireMay = requireUserUpdatable,
): Promise<UserUpdate> => {
  const { user, clientIds, wasShared } = await lockUser(tx, actor, email, requireMay);
  const memberships = await readMemberships(tx, actor, user.id, changes.members_of);
  const seesAccount = seesAccounts(actor) || user.id === actor.id;
  const apps = await readKnownApps(tx, user.id, now, changes);
  const rowWith = (known: readonly KnownApp[]) => {
    // Always empty: who administers a client of the actor cannot be updated.
    const seen = { apps: visibleApps(actor, user, known), clientadmin_of: [] };
    return rowOfUser(user, seen, memberships, seesAccount);
  };
  const before = rowWith(apps);
  requireExpected(before, changes.expected);

  const isShared = changes.members_of !== undefined || isSharedUser(actor, { id: user.id, wasShared });
  const edit = { user, memberships, changes, now };
  const { isActive, switched } = isShared
    ? changeMemberships(edit, before)
    : await changeAccount(tx, actor, edit);
  setData(can(actor, 'administer') && !isShared ? [user, ...memberships] : memberships, changes, before);
  const membersOf = isShared ? switched : [];
  const suspended = isActive === false ? membersOf : [];
  const { granted, revoked, joined, appsAfter } = planApps(actor, clientIds, apps, changes, suspended);
  const after = rowWith(appsAfter);
  await tx.flush();

  const undoable = { userId: user.id, granted, revoked, joined, isActive, membersOf };
  await changeAccess(tx, { by: actor.id, now }, [undoable]);
  await enqueueJoinNotices(tx, [user.id], joined, now);
  if (suspended.length > 0) await endMemberAccess(tx, user, suspended, now);
  const closed = isActive === false ? await closeRequestsOf(tx, actor, user.id, now) : [];
  if (isActive === true && !isShared) await enqueueReactivationNotice(tx, user.id, now);
  if (isActive === false) await lockAccessChange(tx, user.id, actor);

  const details = recordedValues(diffColumns(before, after, PROFILE_FIELDS));
  const about = { actor, target: ofUser(user), clients: isShared ? clientsOf(memberships) : clientIds };
  const events: AuditEvent[] = [];
  if (!isEmpty(details))
    events.push({ action: isShared ? 'membership.update' : 'user.update', ...about, details });
  // A separate entry, with the action that `DELETE` records.
  if (isActive !== null) events.push({ action: activityAction(isActive, isShared), ...about });
  // With the account, or because the account was active already.
  if (!isShared && switched.length > 0)
    events.push({ action: 'membership.reactivate', ...about, clients: switched });
  events.push(...grantEvents(actor, user, granted, revoked), ...closed);
  await audit.record(tx, events);
  // Groups give their apps again to a member who was suspended, and a new membership may come first.
  const shown = memberships.find((each) => each.isActive)?.client.id ?? Infinity;
  const isReadAgain = (isShared && isActive === true) || joined.some((client) => client < shown);
  const result = isReadAgain ? await readUser(tx, actor, now, email) : after;
  return { user: result, isChanged: events.length > 0, undoable };
};

/** The memberships of a locked user that the actor administers, by client; at most those in `among`. */
const readMemberships = async (
  tx: Em,
  actor: Actor,
  userId: number,
  among: readonly number[] | undefined,
): Promise<Membership[]> => {
  const own = await tx.find(Membership, { user: userId }, { orderBy: { client: 'asc' } });
  return own.filter(
    ({ client }) => administersClient(actor, client.id) && (among?.includes(client.id) ?? true),
  );
};

const clientsOf = (memberships: readonly Membership[]): number[] =>
  memberships.map(({ client }) => client.id);

const activityAction = (isActive: boolean, isShared: boolean) => {
  if (isShared) return isActive ? 'membership.reactivate' : 'membership.suspend';
  return isActive ? 'user.reactivate' : 'user.deactivate';
};

/** The names of the changed fields, with the values that the audit trail records. */
const recordedValues = (changes: Changes): Changes =>
  Object.fromEntries(
    Object.entries(changes).map(([field, change]) => [
      field,
      RECORDED_FIELDS.includes(field) ? change : { from: null, to: null },
    ]),
  );

/** Changes that are no changes may be sent along: callers send back whole objects. */
const changedFields = (user: UserDetail, changes: UserChanges): UserChanges => {
  const differs = (field: ProfileField | 'is_active'): boolean =>
    changes[field] !== undefined && canonicalJson(changes[field]) !== canonicalJson(user[field]);
  const fields = [...PROFILE_FIELDS, 'is_active' as const].filter(differs);
  return Object.fromEntries(fields.map((field) => [field, changes[field]]));
};

/**
 * All but what memberships have is the person's own, and an inactive account belongs to all clients of the person.
 * @throws Problem `shared-user`
 */
const refuseAccountFields = (user: User, changes: UserChanges): UserChanges => {
  const { is_active, extra: _, is_demo_user: __, ...own } = changes;
  if (Object.keys(own).length > 0 || (is_active && !user.isActive)) throw new Problem('shared-user');
  return changes;
};

type Edit = { user: User; memberships: readonly Membership[]; changes: UserChanges; now: Date };

/** Whether the change gave access back or ended it, or null, and the clients whose memberships it switched. */
type Switch = { isActive: boolean | null; switched: number[] };

/** @throws Problem `shared-user` */
const changeMemberships = ({ user, memberships, changes, now }: Edit, before: UserDetail): Switch => {
  const own = changes.members_of ? changes : refuseAccountFields(user, changedFields(before, changes));
  const { is_active } = own;
  const switched = clientsOf(memberships.filter(({ isActive }) => isActive !== (is_active ?? isActive)));
  for (const membership of memberships) {
    if (is_active === true) membership.reactivate(now);
    if (is_active === false) membership.suspend(now);
  }
  return { isActive: switched.length > 0 ? (is_active ?? null) : null, switched };
};

/** An admin who reactivates the account means the memberships in their clients, too. */
const changeAccount = async (tx: Em, actor: Actor, edit: Edit): Promise<Switch> => {
  const { user, changes, now } = edit;
  const { is_active, first_name, last_name } = changes;
  const isOfAccount = changes.isUndo || can(actor, 'administer');
  const suspended = is_active && !isOfAccount ? edit.memberships.filter(({ isActive }) => !isActive) : [];
  const isActive = is_active === user.isActive ? null : (is_active ?? null);
  if (is_active === true) user.activate(now);
  if (is_active === false) await deactivate(tx, actor, user, now);
  editEntity(tx, User, user, { first_name, last_name });
  for (const membership of suspended) membership.reactivate(now);
  return { isActive, switched: clientsOf(suspended) };
};

/** Values that are sent back as they were read change nothing: other clients may have others. */
const setData = (owners: readonly (User | Membership)[], changes: UserChanges, before: UserDetail): void => {
  const { extra, is_demo_user } = changedFields(before, changes);
  for (const owner of owners) {
    owner.extra = extra ?? owner.extra;
    owner.isDemoUser = is_demo_user ?? owner.isDemoUser;
  }
};

/**
 * Deactivates a locked user and revokes their tokens, sessions and password links. An inactive user keeps the first date. Call
 * `lockAccessChange` afterwards, when nothing else is left to lock.
 * @throws Problem `self-modification`, `last-superuser`
 */
export const deactivate = async (tx: Em, actor: Actor, user: User, now: Date): Promise<void> => {
  if (user.id === actor.id) throw new Problem('self-modification');
  if (user.isSuperuser && user.isActive) await requireAnotherSuperuser(tx, user);
  user.deactivate(now);
  await revokeCredentials(tx, user.id);
};
