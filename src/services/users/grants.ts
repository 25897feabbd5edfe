import { type InferResult, type NotNull, sql } from 'kysely';
import { AppGrant } from '../../../entities/app.ts';
import { condition, type Em, kysely, pickDefined } from '../../db/kysely.ts';
import { cursorRow, type PageRequest, readPage } from '../../db/pagination.ts';
import { type Clock, DAY_MS } from '../../lib/clock.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import { invalid, notFound } from '../../lib/problems.ts';
import { type Actor, requireIn, requireUserUpdatable } from '../access/actor.ts';
import {
  clientVisibleTo,
  GROUP_ACCESS,
  isPerson,
  liveGrants,
  opensByRole,
  userClientVisibleTo,
  userVisibleTo,
} from '../access/visibility.ts';
import { addressOf, readUserId } from '../accounts/addresses.ts';
import { lockUser } from '../accounts/user-locks.ts';
import { appRow, requireViewableApp } from '../apps/app-rows.ts';
import { namesOf } from '../attributes/effective-values.ts';
import { requireAppRoles, requireValidValues } from '../attributes/stated-values.ts';
import { diffColumns, isEmpty, ofUser, type Transaction } from '../audit/audit.ts';
import { type RowProblem, rowProblemOf, withCurrentActor } from '../auth/bulk-rows.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type UserChanges, updateUser } from './user-update.ts';

/** When and by whom an app was granted; null if unknown, for example after an import. */
type UserGrant = {
  app: string;
  granted_at: Date | null;
  granted_by: string | null;
  expires_at: Date | null;
  reason: string;
  attributes: Record<string, unknown> | null;
  app_roles: string[];
};

/** `expires_at` null: without an end. `attributes` null: the grant gives no data permissions. */
type NewGrant = {
  expires_at: Date | null;
  reason: string;
  attributes?: Record<string, unknown> | null | undefined;
  app_roles?: string[] | undefined;
};
type Ending = { client?: number | undefined; ends_before?: Date | undefined; limit: number };
type NamedGrant = { app_id: string; email: string };
type GrantChanges = { [K in keyof NewGrant]?: NewGrant[K] | undefined };

const SOON_DAYS = 14;

const soon = (clock: Clock): Date => new Date(clock.now().getTime() + SOON_DAYS * DAY_MS);

/** Grants of apps: to whom, by whom, why and until when. */
export const createGrants = ({ em, clock, audit }: Pick<UnitOfWork, 'em' | 'clock' | 'audit'>) => ({
  /**
   * The people who have the app, by email address.
   * @throws Problem `not-found`, `forbidden` if the actor may only open the app, `invalid-input` on `cursor`
   */
  list: async (actor: Actor, appId: string, page: PageRequest & { cursor?: string | undefined }) => {
    await requireViewableApp(em, actor, clock.now(), appId);
    const grants = grantsOf(em, actor, clock.now(), appId).where(userVisibleTo(actor)).where(isPerson);
    if (page.cursor === undefined) return readPage(grants, 'users.email', page);
    const { email } = await cursorRow(grants.where('users.email', '=', page.cursor));
    return readPage(grants.where('users.email', '>', email), 'users.email', page);
  },

  /** See `grantsOfUser`. @throws Problem `not-found` */
  listByUser: async (actor: Actor, email: string) => {
    const id = await readUserId(em, actor, email);
    return (await grantsOfUser(actor, id, clock.now()).execute(kysely(em))).rows;
  },

  /** See `grantApp`. */
  create: (actor: Actor, appId: string, email: string, end: NewGrant): Promise<GrantRow> =>
    em.transactional((tx) => grantApp({ tx, now: clock.now(), audit }, actor, appId, email, end)),

  /**
   * Changes the terms of a grant.
   * @throws Problem `not-found`, the problems of `updateUser`, `invalid-input` on `expires_at`, `attributes`, `app_roles`
   */
  update: (actor: Actor, appId: string, email: string, changes: GrantChanges): Promise<GrantRow> =>
    em.transactional(async (tx) => {
      const now = clock.now();
      requireFuture(changes, now);
      const { client_id } = await appRow(tx, actor, now, appId);
      requireIn(actor, 'manage-grants', client_id);
      await requireGiven(tx, { clientId: client_id, appId }, changes);
      const { user } = await lockUser(tx, actor, email, requireUserUpdatable);
      const before = await readGrant(tx, actor, now, appId, email);
      const after = { ...before, ...pickDefined(changes) };
      const isSame = canonicalJson(before.attributes) === canonicalJson(after.attributes);
      const details = {
        ...diffColumns(before, after, ['expires_at', 'reason', 'app_roles']),
        ...(!isSame && { attributes: { from: namesOf(before.attributes), to: namesOf(after.attributes) } }),
      };
      if (isEmpty(details)) return before;
      const grant = await tx.findOneOrFail(AppGrant, { user: user.id, app: appId });
      const { expires_at, reason, attributes, app_roles } = after;
      tx.assign(grant, { expiresAt: expires_at, reason, attributes, appRoles: app_roles });
      await tx.flush();
      const about = { actor, target: ofUser(user), clients: [client_id] };
      await audit.record(tx, [{ action: 'grant.update', ...about, details: { app: appId, ...details } }]);
      return after;
    }),

  /**
   * The grants of active people in a client, or in all of the actor's, that end before a time, ordered by end. Excludes apps that a role or a group also
   * gives.
   */
  listEnding: (actor: Actor, { client, ends_before: before = soon(clock), limit }: Ending) =>
    kysely(em)
      .selectFrom(liveGrants(clock.now()).as('g'))
      .innerJoin('apps', 'apps.id', 'g.app_id')
      .innerJoin('users', 'users.id', 'g.user_id')
      .leftJoin('memberships', (join) =>
        join
          .onRef('memberships.client_id', '=', 'apps.client_id')
          .onRef('memberships.user_id', '=', 'users.id'),
      )
      .select(['apps.id as app_id', 'apps.label as app_label', 'apps.client_id as client'])
      .select(['users.email', 'users.first_name', 'users.last_name', 'g.reason', 'g.expires_at'])
      .$narrowType<{ expires_at: NotNull }>()
      .where('g.expires_at', '<', before)
      .where('users.is_active', '=', true)
      .where(condition`coalesce(memberships.is_active_member, true)`)
      .where(sql<boolean>`not ${opensByRole()} and not exists (
        select from ${GROUP_ACCESS} b where b.user_id = users.id and b.app_id = apps.id)`)
      .where(clientVisibleTo(actor, sql`apps.client_id`))
      .where(condition`${client === undefined ? sql`true` : sql`apps.client_id = ${client}`}`)
      .orderBy('g.expires_at')
      .orderBy('users.email')
      .limit(limit)
      .execute(),

  /** Changes the end of many grants, each in a separate transaction, by the rules of `update`. */
  extend: async (actor: Actor, grants: readonly NamedGrant[], expiresAt: Date | null) => {
    requireFuture({ expires_at: expiresAt }, clock.now());
    const results: (NamedGrant & { status: 'ok' | 'failed'; problem: RowProblem | null })[] = [];
    for await (const [current, grant] of withCurrentActor(em, actor, grants)) {
      const service = createGrants({ em: em.fork(), clock, audit });
      const changed = service.update(current, grant.app_id, grant.email, { expires_at: expiresAt });
      const problem = await changed.then(() => null, rowProblemOf);
      results.push({ ...grant, status: problem === null ? 'ok' : 'failed', problem });
    }
    return results;
  },

  /** Removes a grant. A group may still give the app. @throws Problem `not-found`, the problems of `updateUser` */
  remove: (actor: Actor, appId: string, email: string): Promise<void> =>
    em.transactional(async (tx) => {
      const deps = { tx, now: clock.now(), audit };
      const { isChanged } = await changeGrant(deps, actor, appId, email, {
        revoke: [appId],
        onlyGrants: true,
      });
      if (!isChanged) throw notFound('grant');
    }),
});

/** Changes the grants of a user by the rules of `users.update`, for one app that the actor manages. */
const changeGrant = async (
  deps: Transaction,
  actor: Actor,
  appId: string,
  email: string,
  changes: UserChanges,
) => {
  const { client_id } = await appRow(deps.tx, actor, deps.now, appId);
  requireIn(actor, 'manage-grants', client_id);
  return updateUser(deps, actor, email, changes);
};

/**
 * Grants the app to a user.
 * @throws the problems of `updateUser`, and Problem `invalid-input` on `email` if the user has the app, and on `expires_at`
 */
export const grantApp = async (
  deps: Transaction,
  actor: Actor,
  appId: string,
  email: string,
  end: NewGrant,
): Promise<GrantRow> => {
  requireFuture(end, deps.now);
  const { client_id: clientId } = await appRow(deps.tx, actor, deps.now, appId);
  await requireGiven(deps.tx, { clientId, appId }, end);
  const terms = {
    granted_by: actor.id,
    granted_at: deps.now.toISOString(),
    expires_at: end.expires_at?.toISOString() ?? null,
    reason: end.reason,
    attributes: end.attributes ?? null,
    app_roles: end.app_roles ?? [],
  };
  const granting = { grant: [appId], terms: { [appId]: terms } };
  const { isChanged } = await changeGrant(deps, actor, appId, email, granting);
  if (!isChanged)
    throw invalid({ email: ['This user already has the app. Change the end of the grant instead.'] });
  return readGrant(deps.tx, actor, deps.now, appId, email);
};

/** @throws Problem `invalid-input` on `attributes`, `app_roles` */
const requireGiven = async (
  tx: Em,
  app: { clientId: number; appId: string },
  { attributes, app_roles: roles = [] }: GrantChanges,
): Promise<void> => {
  await requireValidValues(tx, app, attributes);
  await requireAppRoles(tx, app.appId, roles);
};

/** @throws Problem `invalid-input` on `expires_at` */
export const requireFuture = ({ expires_at }: GrantChanges, now: Date): void => {
  if (expires_at && expires_at <= now) throw invalid({ expires_at: ['Must be in the future.'] });
};

/** The grants of a user, by the age of the apps. */
export const grantsOfUser = (actor: Actor, id: number, now: Date) => sql<UserGrant>`
  select a.id as app, g.granted_at, ${addressOf(actor, sql`g.granted_by`, sql`g.granted_at`)} as granted_by, g.expires_at, g.reason,
    g.attributes, g.app_roles
  from ${liveGrants(now)} g join apps a on a.id = g.app_id
  where g.user_id = ${id} and ${userClientVisibleTo(actor, sql`g.user_id`, sql`a.client_id`)}
  order by a.created_at, a.id`;

/** The grants of an app that count now. */
const grantsOf = (em: Em, actor: Actor, now: Date, appId: string) =>
  kysely(em)
    .selectFrom(liveGrants(now).as('g'))
    .innerJoin('users', 'users.id', 'g.user_id')
    .select(['users.email', 'users.first_name', 'users.last_name'])
    .select(addressOf(actor, sql`g.granted_by`, sql`g.granted_at`).as('granted_by'))
    .select(['g.granted_at', 'g.expires_at', 'g.reason', 'g.attributes', 'g.app_roles'])
    .where('g.app_id', '=', appId)
    .orderBy('users.email');

type GrantRow = InferResult<ReturnType<typeof grantsOf>>[number];

/** @throws Problem `not-found` */
const readGrant = (em: Em, actor: Actor, now: Date, appId: string, email: string): Promise<GrantRow> =>
  grantsOf(em, actor, now, appId)
    .where('users.email', '=', email)
    .executeTakeFirstOrThrow(() => notFound('grant'));

/** Grants per transaction. */
const BATCH = 1_000;

/** Deletes expired grants, which no longer counted, and records this. */
export const pruneGrants = async (em: Em, audit: UnitOfWork['audit'], now: Date): Promise<void> => {
  const pruneBatch = async (tx: Em): Promise<number> => {
    const { rows } = await sql<{ id: number; email: string; app_id: string; client_id: number }>`
      with expired as (
        select user_id, app_id from app_grants where expires_at <= ${now}::timestamptz
        order by expires_at limit ${BATCH} for update skip locked
      ),
      deleted as (
        delete from app_grants g using expired
        where (g.user_id, g.app_id) = (expired.user_id, expired.app_id)
        returning g.user_id, g.app_id
      )
      select users.id, users.email, deleted.app_id, apps.client_id
      from deleted join users on users.id = deleted.user_id
        join apps on apps.id = deleted.app_id`.execute(kysely(tx));
    const events = rows.map(({ app_id, client_id, ...user }) => ({
      action: 'grant.expire' as const,
      actor: null,
      target: ofUser(user),
      clients: [client_id],
      details: { revoked: [app_id] },
    }));
    await audit.record(tx, events);
    return rows.length;
  };
  while ((await em.transactional(pruneBatch)) === BATCH);
};
