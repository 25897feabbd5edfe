import { sql } from 'kysely';
import { User } from '../../../entities/user.ts';
import { clientIdsOf, condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import { Problem, roleRequired } from '../../lib/problems.ts';
import { type Actor, isSharedUser, requireAccessAdmin, requireUserUpdatable } from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import { can, rolesThatMay } from '../access/permissions.ts';
import { isAllowedIn } from '../access/visibility.ts';
import { revokeCredentials } from '../accounts/access-ends.ts';
import { lockUser, lockVisibleUser, requireAnotherSuperuser } from '../accounts/user-locks.ts';
import { loadUser, membershipOrder, readUser, type UserDetail } from '../accounts/user-rows.ts';
import {
  type AuditEvent,
  type Changes,
  diffColumns,
  isEmpty,
  ofUser,
  type Transaction,
} from '../audit/audit.ts';
import { editEntity, requireExpected } from '../audit/edits.ts';
import type { UndoableChange } from '../audit/operation-log.ts';
import { enqueueJoinNotices, enqueueReactivationNotice } from '../policies/password-expiry.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type AppChanges, changeAccess, grantEvents, namedApps, planApps } from './app-grants.ts';
import { endMemberAccess, switchMemberships } from './member-access.ts';
import { closeRequestsOf } from './request-closing.ts';

const DATA_FIELDS = ['extra', 'is_demo_user'] as const;
const MEMBERSHIP_FIELDS = [...DATA_FIELDS, 'is_active'] as const;

/** Fields of the account. Once an account was shared, only the person changes them. */
const ACCOUNT_FIELDS = ['first_name', 'last_name'] as const;

/**
 * The fields whose values the audit trail records. For the others, which are personal or may be large, it records only that they changed.
 */
const RECORDED_FIELDS: readonly string[] = ['is_demo_user'];

type ProfileField = (typeof ACCOUNT_FIELDS | typeof DATA_FIELDS)[number];
/** The fields that callers may send. */
export type ChangedField = ProfileField | 'is_active' | 'apps';

export type UserChanges = AppChanges & { [K in ProfileField | 'is_active']?: UserDetail[K] | undefined } & {
  /** Set by an undo, which does not reactivate the memberships together with the account. */
  isUndo?: boolean;
  /** Changes the memberships in these clients instead of the account. */
  members_of?: readonly number[] | undefined;
  /** The values that the caller has read: the update fails if the user differs by now. */
  expected?: { [K in keyof UserDetail]?: UserDetail[K] | undefined } | undefined;
};

type UserUpdate = { isChanged: boolean; undoable: UndoableChange };

type Deps = Pick<UnitOfWork, 'em' | 'clock' | 'audit'>;
type UpdateDeps = Deps & Pick<UnitOfWork, 'read' | 'loadAnyUser'>;

export const createUserUpdates = ({ em, clock, audit, ...reading }: UpdateDeps) => ({
  /** @throws the problems of `updateUser` */
  update: async (actor: Actor, email: string, changes: UserChanges): Promise<UserDetail> => {
    await em.transactional((tx) =>
      updateUser({ tx, now: clock.now(), audit }, actor, email, changes, requireUserUpdatable),
    );
    return loadUser({ em, clock, ...reading }, actor, email);
  },

  /**
   * Deactivates a user, or suspends a shared user in the clients of the actor.
   * @throws Problem `not-found`, `forbidden`, `self-modification`, `last-superuser`
   */
  deactivate: (actor: Actor, email: string): Promise<void> =>
    em.transactional(async (tx) => {
      await updateUser({ tx, now: clock.now(), audit }, actor, email, { is_active: false });
    }),
});

/** The fields that people change in their own account. */
type ProfileChanges = {
  [K in 'first_name' | 'last_name' | 'profile_color' | 'profile_avatar']?: UserDetail[K] | undefined;
};

export const createProfiles = ({ em, clock, audit }: Deps) => ({
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
 * Changes a user: lock, check, change, record. If the account was shared, admins of clients change only the memberships in their clients.
 * @param requireMay the rule that the actor must meet; default: who may end the access of a user may also suspend and reactivate them
 * @throws Problem `not-found`, `forbidden`, `shared-user`, `client-admin-locked`, `self-modification`, `last-superuser`,
 * `precondition-failed`, `invalid-input` on `apps`
 */
export const updateUser = async (
  { tx, now, audit }: Transaction,
  actor: Actor,
  email: string,
  changes: UserChanges,
  requireMay = requirementFor(changes),
): Promise<UserUpdate> => {
  const { user, clientIds, wasShared } = await lockUser(tx, actor, email, requireMay);
  if (changes.expected) requireExpected(await readUser(tx, actor, now, email), changes.expected);
  if (!can(actor, 'administer') && !clientIds.some((id) => can(actor, 'manage-people', id)))
    requireOnlyApps(await readUser(tx, actor, now, email), changes);
  const isShared = changes.members_of !== undefined || isSharedUser(actor, { id: user.id, wasShared });
  const isAccountOnly = !isShared && MEMBERSHIP_FIELDS.every((field) => changes[field] === undefined);
  const memberships = isAccountOnly ? [] : await readMemberships(tx, actor, user.id, changes.members_of);
  const edit = { tx, actor, user, memberships, changes, now };
  // Before a suspension hides the apps, or a reactivation shows them: callers send back what they have read.
  const apps = await planApps({ tx, now }, actor, { id: user.id, clientIds }, changes);
  const { isActive, switched, details } = isShared
    ? await updateMemberships(edit)
    : await updateAccount(edit);
  const membersOf = isShared ? switched : [];
  const suspended = isActive === false ? membersOf : [];
  const { granted, revoked, joined } = apps;

  const undoable = { userId: user.id, granted, revoked, joined, isActive, membersOf };
  await changeAccess(tx, { by: actor.id, now }, [undoable]);
  await enqueueJoinNotices(tx, [user.id], joined, now);
  if (suspended.length > 0) await endMemberAccess(tx, user, suspended, now);
  const closed = isActive === false ? await closeRequestsOf(tx, actor, user.id, now) : [];
  if (isActive === true && !isShared) await enqueueReactivationNotice(tx, user.id, now);
  if (isActive === false) await lockAccessChange(tx, user.id, actor);

  const clients = isShared ? clientsOf(memberships) : clientIds;
  const about = { actor, target: ofUser(user), clients };
  const events: AuditEvent[] = [];
  if (!isEmpty(details)) {
    const action = isShared ? 'membership.update' : 'user.update';
    events.push({ action, ...about, details: recordedValues(details) });
  }
  // A separate entry, with the action that `DELETE` also records.
  if (isActive !== null) events.push({ action: activityAction(isActive, isShared), ...about });
  // Memberships that were switched together with the account, or because the account was active already.
  if (!isShared && switched.length > 0)
    events.push({ action: 'membership.reactivate', ...about, clients: switched });
  events.push(...grantEvents(actor, user, granted, revoked), ...closed);
  await audit.record(tx, events);
  return { isChanged: events.length > 0, undoable };
};

/**
 * For actors who may only grant apps. Callers send back whole objects: unchanged values change nothing.
 * @throws Problem `forbidden`
 */
const requireOnlyApps = (seen: UserDetail, changes: UserChanges): void => {
  const isChanged = (field: ProfileField | 'is_active'): boolean =>
    changes[field] !== undefined && canonicalJson(changes[field]) !== canonicalJson(seen[field]);
  if ([...ACCOUNT_FIELDS, ...MEMBERSHIP_FIELDS].some(isChanged))
    throw roleRequired(rolesThatMay('manage-people'));
};

const requirementFor = (changes: UserChanges) => {
  const isOnlyActivity =
    changes.is_active !== undefined &&
    [...ACCOUNT_FIELDS, ...DATA_FIELDS].every((field) => changes[field] === undefined) &&
    namedApps(changes).length === 0;
  return isOnlyActivity ? requireAccessAdmin : requireUserUpdatable;
};

/** The memberships of a locked user that the actor administers, limited to `among`. The first is the one that the actor sees. */
const readMemberships = (tx: Em, actor: Actor, userId: number, among: readonly number[] | undefined) =>
  kysely(tx)
    .selectFrom('memberships as m')
    .select(['m.client_id as client', 'm.is_active_member as is_active', 'm.extra', 'm.is_demo_user'])
    .where('m.user_id', '=', userId)
    .where(isAllowedIn(sql`m.client_id`, actor, 'manage-people'))
    .where(among ? isAnyOf('m.client_id', among, 'int') : condition`true`)
    .orderBy(membershipOrder(actor))
    .execute();

type MembershipRow = Awaited<ReturnType<typeof readMemberships>>[number];

const clientsOf = (memberships: readonly MembershipRow[]): number[] =>
  memberships.map(({ client }) => client).sort((a, b) => a - b);

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

type Edit = {
  tx: Em;
  actor: Actor;
  user: User;
  memberships: readonly MembershipRow[];
  changes: UserChanges;
  now: Date;
};

/**
 * `isActive`: whether the change gave access back (true) or ended it (false), or null; the clients whose memberships it switched; and the
 * changed columns.
 */
type Edited = { isActive: boolean | null; switched: number[]; details: Changes };

/**
 * Callers send back whole objects: unchanged values change nothing. All fields except the memberships' are the person's own, and an
 * inactive account concerns all clients of the person.
 * @throws Problem `shared-user`
 */
const updateMemberships = async (edit: Edit): Promise<Edited> => {
  const { tx, user, memberships, changes } = edit;
  const { is_active } = changes;
  const isEdited = !isEmpty(editEntity(tx, User, user, fieldsIn(changes)));
  if (isEdited || (is_active && !user.isActive && !changes.members_of)) throw new Problem('shared-user');
  const isSeenActive = user.isActive && memberships[0]?.is_active !== false;
  const isSwitched = is_active !== undefined && (changes.members_of || is_active !== isSeenActive);
  const switched = isSwitched ? await switchSeen(edit, is_active) : [];
  const isActive = switched.length > 0 ? (is_active ?? null) : null;
  return { isActive, switched, details: await setData(edit) };
};

/** If a client admin reactivates the account, the memberships in their clients are reactivated, too. */
const updateAccount = async (edit: Edit): Promise<Edited> => {
  const { tx, actor, user, changes, now } = edit;
  const { is_active } = changes;
  const isActive = is_active === user.isActive ? null : (is_active ?? null);
  if (is_active === true) user.activate(now);
  if (is_active === false) await deactivate(tx, actor, user, now);
  const fields = editEntity(tx, User, user, fieldsIn(changes));
  const isOfAccount = changes.isUndo || can(actor, 'administer');
  const switched = is_active && !isOfAccount ? await switchSeen(edit, true) : [];
  const data = await setData(edit, can(actor, 'administer') ? user : undefined);
  await tx.flush();
  return { isActive, switched, details: { ...fields, ...data } };
};

/**
 * @returns the clients whose memberships were suspended or reactivated
 * @throws Problem `self-modification`
 */
const switchSeen = async (edit: Edit, isActive: boolean): Promise<number[]> => {
  const { tx, actor, user, memberships, now } = edit;
  if (user.id === actor.id && !isActive) throw new Problem('self-modification');
  const switched = clientsOf(memberships.filter((each) => each.is_active !== isActive));
  await switchMemberships(tx, user.id, switched, isActive, now);
  return switched;
};

const fieldsIn = (changes: UserChanges) =>
  Object.fromEntries(ACCOUNT_FIELDS.map((field) => [field, changes[field]]));

/**
 * Sets the data that differ from the data that the actor sees: other clients may have other data. If an account is given, also sets its
 * data.
 */
const setData = async ({ tx, memberships, user, changes }: Edit, account?: User): Promise<Changes> => {
  const seen = memberships[0] ?? { extra: user.extra, is_demo_user: user.isDemoUser };
  const isChanged = (field: (typeof DATA_FIELDS)[number]): boolean =>
    changes[field] !== undefined && canonicalJson(changes[field]) !== canonicalJson(seen[field]);
  const fields = DATA_FIELDS.filter(isChanged);
  if (fields.length === 0) return {};
  const data = Object.fromEntries(fields.map((field) => [field, changes[field]]));
  if (account) editEntity(tx, User, account, data);
  await kysely(tx)
    .updateTable('memberships')
    .set(data)
    .where('user_id', '=', user.id)
    .where(isAnyOf('client_id', clientsOf(memberships), 'int'))
    .execute();
  return diffColumns(seen, { ...seen, ...data }, fields);
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
