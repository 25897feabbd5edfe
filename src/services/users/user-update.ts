import { User } from '../../../entities/user.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import {
  type Actor,
  administersClient,
  canViewAll,
  isSharedUser,
  requireUserUpdatable,
} from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import { type Audit, type AuditEvent, isEmpty } from '../audit/audit.ts';
import { revokeCredentials } from '../auth/credentials.ts';
import { editEntity, requireExpected } from '../edits.ts';
import { type GrantableApp, idsOf, type UndoableChange } from '../operations/operation-log.ts';
import { enqueueJoinNotices, enqueueReactivationNotice } from '../passwords/password-expiry.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { changeAccess, grantEvents, unknownApp } from './app-grants.ts';
import { lockUser, requireAnotherSuperuser } from './user-locks.ts';
import { rowOfUser, type UserDetail } from './user-rows.ts';

/** The columns that an update sets as they are sent. */
const PROFILE_FIELDS = ['first_name', 'last_name', 'extra', 'is_demo_user'] as const;

/**
 * Those whose values the audit trail records; of others, it records only that they changed. An erasure empties the names there, but
 * not other personal data (`erased_audit_entry`). Free-form data may be large or sensitive.
 */
export const RECORDED_FIELDS: readonly string[] = ['first_name', 'last_name', 'is_demo_user'];

/** What all clients of a user share. */
const SHARED_FIELDS = [...PROFILE_FIELDS, 'is_active'] as const;
type SharedField = (typeof SHARED_FIELDS)[number];

export type UserChanges = { [K in SharedField]?: UserDetail[K] | undefined } & {
  /** Replaces the apps of the user, as far as the actor may change them. */
  apps?: string[] | undefined;
  /** Adds and removes single apps. Not to be combined with `apps`. */
  grant?: readonly string[] | undefined;
  revoke?: readonly string[] | undefined;
  /** What the caller has read of the user: the update fails if it has changed. */
  expected?: { [K in keyof UserDetail]?: UserDetail[K] | undefined } | undefined;
};

export type UserUpdate = { user: UserDetail; isChanged: boolean; undoable: UndoableChange };

export const createUserUpdates = ({ em, clock, audit }: Pick<UnitOfWork, 'em' | 'clock' | 'audit'>) => ({
  /** @throws as `updateUser` */
  update: (actor: Actor, email: string, changes: UserChanges): Promise<UserDetail> =>
    em.transactional(
      async (tx) => (await updateUser({ tx, now: clock.now(), audit }, actor, email, changes)).user,
    ),

  /** @throws Problem `not-found`, `forbidden`, `self-modification`, `last-superuser` */
  deactivate: (actor: Actor, email: string): Promise<void> =>
    em.transactional(async (tx) => {
      const { user, clientIds: clients } = await lockUser(tx, actor, email);
      const wasActive = user.isActive;
      await deactivate(tx, actor, user, clock.now());
      if (!wasActive) return;
      await tx.flush();
      await lockAccessChange(tx, user.id, actor);
      await audit.record(tx, [{ action: 'user.deactivate', actor, target: email, clients }]);
    }),
});

type Deps = { tx: Em; now: Date; audit: Audit };

/**
 * Changes a user: lock, check, change, record. The result is computed from what was read instead of being read again.
 * @throws Problem `not-found`, `forbidden`, `shared-user`, `client-admin-locked`, `self-modification`, `last-superuser`,
 * `precondition-failed`, `invalid-input` on `apps`
 */
export const updateUser = async (
  { tx, now, audit }: Deps,
  actor: Actor,
  email: string,
  requested: UserChanges,
): Promise<UserUpdate> => {
  const { user, clientIds } = await lockUser(tx, actor, email, requireUserUpdatable);
  const apps = await readKnownApps(tx, user.id, namedApps(requested));
  // `requireUserUpdatable` has refused client admins, so the list is empty.
  const before = rowOfUser(user, { apps: visibleApps(actor, user, apps), clientadmin_of: [] });
  requireExpected(before, requested.expected);
  // Which fields the actor may change, of those who may update the user.
  const { is_active, ...changes } = permittedChanges(actor, before, clientIds, requested);

  if (is_active === true) user.activate(now);
  if (is_active === false) await deactivate(tx, actor, user, now);
  const activityChange = user.isActive === before.is_active ? null : user.isActive;
  const profile = Object.fromEntries(PROFILE_FIELDS.map((field) => [field, changes[field]]));
  const details = editEntity(tx, User, user, profile);
  for (const field of Object.keys(details))
    if (!RECORDED_FIELDS.includes(field)) details[field] = { from: null, to: null };
  await tx.flush();

  const { granted, revoked, joined, appsAfter } = planApps(actor, clientIds, apps, changes);
  const undoable = { userId: user.id, granted, revoked, joined, isActive: activityChange };
  await changeAccess(tx, [undoable]);
  await enqueueJoinNotices(tx, [user.id], joined, now);
  if (activityChange === true) await enqueueReactivationNotice(tx, user.id, now);
  if (activityChange === false) await lockAccessChange(tx, user.id, actor);

  const about = { actor, target: user.email, clients: clientIds };
  const events: AuditEvent[] = [];
  if (!isEmpty(details)) events.push({ action: 'user.update', ...about, details });
  // A separate entry, with the action that `DELETE` records.
  if (activityChange !== null)
    events.push({ action: activityChange ? 'user.reactivate' : 'user.deactivate', ...about });
  events.push(...grantEvents(actor, user.email, granted, revoked));
  await audit.record(tx, events);
  return {
    user: rowOfUser(user, { apps: visibleApps(actor, user, appsAfter), clientadmin_of: [] }),
    isChanged: events.length > 0,
    undoable,
  };
};

/**
 * Deactivates a locked user and revokes their tokens, sessions and password links. An inactive user keeps the first date. Call
 * `lockAccessChange` afterwards, when nothing else is left to lock.
 * @throws Problem `self-modification`, `last-superuser`
 */
const deactivate = async (tx: Em, actor: Actor, user: User, now: Date): Promise<void> => {
  if (user.id === actor.id) throw new Problem('self-modification');
  if (user.isSuperuser && user.isActive) await requireAnotherSuperuser(tx, user);
  user.deactivate(now);
  await revokeCredentials(tx, user.id);
};

/**
 * Of a shared user, the actor may change the apps only. Values that are as they were may be sent along: callers send back whole
 * objects.
 * @throws Problem `shared-user`
 */
const permittedChanges = (
  actor: Actor,
  user: UserDetail,
  clientIds: number[],
  changes: UserChanges,
): UserChanges => {
  if (!isSharedUser(actor, { id: user.id, clientIds })) return changes;
  const differs = (field: SharedField): boolean =>
    changes[field] !== undefined && canonicalJson(changes[field]) !== canonicalJson(user[field]);
  if (SHARED_FIELDS.some(differs)) throw new Problem('shared-user');
  const { apps, grant, revoke } = changes;
  return { apps, grant, revoke };
};

/** The apps that the changes name. */
const namedApps = ({ apps, grant = [], revoke = [] }: UserChanges): readonly string[] =>
  apps ?? [...grant, ...revoke];

/** An app that is granted to a user, or requested for them. */
type KnownApp = GrantableApp & { is_granted: boolean };

/** The apps of a user and those of `appIds` that exist, oldest first. */
const readKnownApps = (tx: Em, userId: number, appIds: readonly string[]): Promise<KnownApp[]> =>
  kysely(tx)
    .selectFrom('apps')
    .select(['apps.id', 'apps.client_id'])
    .select(
      condition`exists (select from app_grants g where g.user_id = ${userId} and g.app_id = apps.id)`.as(
        'is_granted',
      ),
    )
    .where(
      condition`apps.id in (select g.app_id from app_grants g where g.user_id = ${userId}
        union all select unnest(${[...appIds]}::varchar[]))`,
    )
    .orderBy('apps.created_at')
    .orderBy('apps.id')
    .execute();

/** The ids of the granted apps that the actor may see. */
const visibleApps = (actor: Actor, user: User, apps: readonly KnownApp[]): string[] =>
  idsOf(
    apps.filter(
      ({ client_id, is_granted }) =>
        is_granted && (user.id === actor.id || canViewAll(actor) || administersClient(actor, client_id)),
    ),
  );

/**
 * Plans the grants and revocations that replace a user's apps by the requested ones. Apps of clients that the actor does not
 * administer stay unchanged, so that admins of different clients do not undo each other's changes.
 * @throws Problem `invalid-input` on `apps`
 */
const planApps = (
  actor: Actor,
  clientIds: readonly number[],
  apps: readonly KnownApp[],
  changes: UserChanges,
) => {
  const named = namedApps(changes);
  if (changes.apps === undefined && named.length === 0)
    return { granted: [], revoked: [], joined: [], appsAfter: apps };
  const changeable = apps.filter((app) => administersClient(actor, app.client_id));
  // Clients may send back granted apps that the actor may see but not change.
  const isReadOnly = (app: KnownApp) => app.is_granted && !changeable.includes(app);
  const readOnly = changes.apps && canViewAll(actor) ? apps.filter(isReadOnly) : [];
  const accepted = new Set(idsOf([...changeable, ...readOnly]));
  const unknown = named.filter((id) => !accepted.has(id));
  if (unknown.length > 0) throw invalid({ apps: unknown.map(unknownApp) });

  const wanted = changeable.filter(wantsApp(changes));
  const appsAfter = apps.map((app) =>
    changeable.includes(app) ? { ...app, is_granted: wanted.includes(app) } : app,
  );
  return {
    granted: wanted.filter((app) => !app.is_granted),
    revoked: changeable.filter((app) => app.is_granted && !wanted.includes(app)),
    /** Ids of clients. */
    joined: [...new Set(wanted.map((app) => app.client_id))].filter((id) => !clientIds.includes(id)),
    appsAfter,
  };
};

const wantsApp = ({ apps, grant = [], revoke = [] }: UserChanges): ((app: KnownApp) => boolean) => {
  const [added, removed] = [new Set(apps ?? grant), new Set(revoke)];
  return ({ id, is_granted }) => added.has(id) || (apps === undefined && is_granted && !removed.has(id));
};
