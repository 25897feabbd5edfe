import { type RawBuilder, sql } from 'kysely';
import { DATABASE_TIME } from '../../db/database-clock.ts';
import { type Condition, condition, type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import type { TicketActor } from '../../lib/ticket-claims.ts';
import type { SessionProof } from '../access/auth-methods.ts';
import { GLOBAL_ROLES } from '../access/permissions.ts';
import { isWithin, type Scope } from '../access/scope.ts';
import {
  appAccess,
  GROUP_ACCESS,
  hasGlobalRole,
  hasOwnAccess,
  isAppOpeningMember,
  liveGrants,
  openingRoles,
  opensByRole,
} from '../access/visibility.ts';
import { fullName } from '../accounts/user-rows.ts';
import { isInMaintenance } from '../apps/maintenance.ts';
import { describeFaults } from '../attributes/effective-values.ts';
import { dataPermissionsOf, givenColumns } from '../attributes/given-values.ts';
import { APP_FACTOR_STATE, type LoginStep, nextAppStep } from '../policies/factor-policy.ts';

/**
 * Whether an app may be opened, or why not. All ways to open apps use this decision: launches, tickets, introspection, forward
 * authentication and access views.
 */
export type AppAccess =
  | 'allowed'
  | 'in-maintenance'
  | 'attributes-invalid'
  | 'client-closed'
  | 'not-granted'
  | 'user-inactive';

/**
 * Apps with the user or the access view that opens them. A view opens an app as its user or, without one, as a guest. The columns determine
 * whether the app may be opened, and the claims of tickets. The columns of a missing user, view or use are null.
 */
const openings = (em: Em, now: Date, { view, user, use }: Joined, readsGiven?: Condition) =>
  kysely(em)
    .selectFrom('apps')
    .innerJoin('clients', 'clients.id', 'apps.client_id')
    .leftJoin('access_views', (join) => join.on(view))
    .leftJoin('access_view_uses as used', (join) => join.on(use))
    .leftJoin('users', (join) => join.on(user))
    .leftJoin('memberships', (join) =>
      join
        .onRef('memberships.client_id', '=', 'apps.client_id')
        .onRef('memberships.user_id', '=', 'users.id'),
    )
    .select(['apps.id as app_id', 'apps.slug as app_slug', 'apps.label as app_label'])
    .select(['apps.launch_url', 'apps.view_as', isInMaintenance(now).as('in_maintenance')])
    .select(['clients.id as client_id', 'clients.name as client_name', 'clients.help_desk_may_view_as'])
    .select(['clients.is_open as client_is_open', 'clients.embed_origins'])
    .select(['users.id as user_id', 'users.handle', 'users.email', 'users.is_active'])
    .select(({ fn }) => [
      fn.coalesce('memberships.extra', 'users.extra').as('extra'),
      fn.coalesce('memberships.is_demo_user', 'users.is_demo_user').as('is_demo_user'),
    ])
    .select([
      fullName('users').$castTo<string | null>().as('name'),
      openingRoles().as('roles'),
      hasOwnAccess(now).as('has_own_access'),
      hasGlobalRole().as('has_global_role'),
      accessEndsAt(now).as('access_ends_at'),
    ])
    .select(['access_views.id as view_id', 'access_views.is_active as view_is_active'])
    .select(['access_views.is_one_time', 'access_views.expires_at', 'access_views.by_superuser'])
    .select(APP_FACTOR_STATE)
    .select(givenColumns(now, readsGiven))
    .select(['used.methods as use_methods', 'used.auth_time as use_auth_time'])
    .select(['access_views.data_permissions', 'access_views.selections', 'access_views.language_code'])
    .select(['access_views.stack_slug as view_stack', 'access_views.show_header', 'access_views.show_footer'])
    .select(
      // As in tickets. Revocations use the same clock.
      sql<number>`floor(extract(epoch from ${sql.raw(DATABASE_TIME)}) * 1000)::float8`.as('issued_ms'),
    );

/** Conditions for the rows that are joined to an app. */
type Joined = { view: Condition; user: Condition; use: Condition };

type OpeningRow = Awaited<ReturnType<ReturnType<typeof openings>['execute']>>[number];

/** `look`: if another person looks at the app as the user. */
export type Opening = OpeningRow & { look?: Look };

/** A look at an app as its user. `proof`: of the session of the person who looks. */
export type Look = {
  id: number;
  actorId: number;
  sessionId: number;
  actor: TicketActor;
  proof: SessionProof;
  endsAt: Date;
};

/**
 * All pairs of an app and a user: filter both.
 * @param readsGiven for data permissions by a schema that the app does not have yet
 */
export const openingsByUser = (em: Em, now: Date, readsGiven?: Condition) =>
  openings(em, now, { view: NONE, user: condition`true`, use: NONE }, readsGiven).where(
    'users.id',
    'is not',
    null,
  );

const NONE = condition`false`;

/**
 * @param isWanted a condition on `access_views`
 * @param isUse a condition on `used`, a use of the view
 */
export const openingsByView = (em: Em, now: Date, isWanted: Condition, isUse: Condition = NONE) =>
  openings(em, now, {
    view: condition`access_views.app_id = apps.id and ${isWanted}`,
    user: condition`users.id = access_views.user_id`,
    use: condition`used.access_view_id = access_views.id and ${isUse}`,
  }).where('access_views.id', 'is not', null);

const GLOBAL_NAMES: readonly string[] = GLOBAL_ROLES.map(({ name }) => name);

/**
 * Limits an opening to the scope of the user's credential: access in the client counts within the scope; roles in all clients count unless
 * the scope is confined to a client.
 */
export const openingWithin = (opening: Opening, scope: Scope): Opening => {
  const isOwn = isWithin(scope, opening.client_id);
  const isGlobal = scope.only === null;
  return {
    ...opening,
    has_own_access: opening.has_own_access && isOwn,
    has_global_role: opening.has_global_role && isGlobal,
    roles: opening.roles.filter((role) => (GLOBAL_NAMES.includes(role) ? isGlobal : isOwn)),
  };
};

/**
 * SQL: whether a row of `users` may open this app. Compares with a set that is computed once: otherwise, for many users, PostgreSQL would
 * read the grants of all apps for each user.
 */
export const hasAccessToOne = (
  now: Date,
  { appId, clientId }: { appId: string; clientId: number },
) => condition`
  users.id in (
    select user_id from ${appAccess(now)} g where g.app_id = ${appId}
    union select user_id from memberships where client_id = ${clientId} and ${isAppOpeningMember()}
    union select id from users where ${hasGlobalRole()})`;

/** SQL: when access by a grant ends; null if it has no end, or if a role or a group gives access, too. */
export const accessEndsAt = (now: Date) => sql<Date | null>`
  case when not (${opensByRole()}
    or exists (select from ${GROUP_ACCESS} g where g.user_id = users.id and g.app_id = apps.id)) then (
    select g.expires_at from ${liveGrants(now)} g where g.user_id = users.id and g.app_id = apps.id) end`;

/** A stack of an app, including stacks that the loaded package no longer offers. */
export const stackBySlug = (em: Em, appId: string, slug: string) =>
  kysely(em)
    .selectFrom('stacks')
    .select(['id', 'is_offered'])
    .where('app_id', '=', appId)
    .where('slug', '=', slug);

/** An ended view grants nothing. A view opens an app as a superuser or staff only if a superuser created it for one. */
export const decideAccess = (opening: Opening, now: Date): AppAccess => {
  const { user_id, view_id, client_is_open, in_maintenance } = opening;
  if (view_id !== null && !isViewOpen(opening, now)) return 'not-granted';
  if (user_id !== null && !opening.is_active) return 'user-inactive';
  const hasAccess = opening.has_own_access || opening.has_global_role === true;
  const isGranted = hasAccess && (view_id === null || opening.by_superuser || !opening.has_global_role);
  if (user_id !== null && !isGranted) return 'not-granted';
  if (!client_is_open) return 'client-closed';
  if (dataPermissionsOf(opening).isRefused) return 'attributes-invalid';
  return in_maintenance ? 'in-maintenance' : 'allowed';
};

/** Why an app stays closed to a person whose data permissions are invalid: names the attributes, not their values. */
export const invalidAttributes = (opening: Opening): Problem => {
  const faults = dataPermissionsOf(opening).outcome?.faults ?? [];
  const { app_label: app, client_name: client } = opening;
  return new Problem('attributes-invalid', {
    detail: `${app} does not open, because data permissions are invalid: ${describeFaults(faults)}. An admin of ${client} can correct them.`,
    fields: { data_permissions: faults.map(({ key, message }) => `${key} ${message}`) },
  });
};

/** The login with which an app is opened. `isToken`: a token proves nothing, but scripts cannot log in otherwise. */
export type Opener = { proof: SessionProof | null; isToken: boolean };

/**
 * The step that the app's client still requires of a person, or null. Depends on the person's session, or on the session in which they
 * opened a view. Ignores views without a person, and one-time views, for whose person the platform vouches.
 */
export const factorStepOf = (opening: Opening, { proof, isToken }: Opener, now: Date): LoginStep | null =>
  opening.user_id === null || isToken || opening.is_one_time === true
    ? null
    : nextAppStep(opening, proof?.methods ?? [], now);

const DETAILS: Record<LoginStep, string> = {
  code: 'This app needs a second factor. Send one of your codes with POST /api/v1/session/confirm/, then send this request again.',
  enrol:
    'This app needs a second factor, and you have none. Log in again with POST /api/v1/session/ and `enrol`, or add one with POST /api/v1/mfa/totp/.',
  passkey: 'This app needs a login with a passkey. Without one, add it to your account first.',
};

/** @throws Problem `second-factor-required` */
export const requireFactor = (opening: Opening, opener: Opener, now: Date): void => {
  const loginStep = factorStepOf(opening, opener, now);
  if (loginStep !== null)
    throw new Problem('second-factor-required', { detail: DETAILS[loginStep], loginStep });
};

/** The expiry of a one-time view limits when it can be opened, not how long the app stays open. */
const isViewOpen = ({ view_is_active, is_one_time, expires_at }: Opening, now: Date): boolean =>
  view_is_active === true && (is_one_time === true || expires_at === null || expires_at > now);

/** SQL: whether a row of `access_views` can be opened from this address. Without an address, only views for any network can. */
export const isInNetwork = (address: string | null): RawBuilder<boolean> => condition`
  (cardinality(allowed_networks) = 0
    or coalesce(${address}::inet <<= any(allowed_networks::inet[]), false))`;

/** The roles in a ticket. */
export const rolesOf = (opening: Opening): string[] => {
  if (opening.user_id === null) return ['guest'];
  return opening.roles.length > 0 ? opening.roles : ['member'];
};
