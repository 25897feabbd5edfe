import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import { condition } from '../../db/kysely.ts';

/**
 * Whether a user may open an app, and why not. Everything that opens apps decides by it: launches, tickets, introspection,
 * forward authentication and access views.
 */
export type AppAccess = 'allowed' | 'in-maintenance' | 'client-closed' | 'not-granted' | 'user-inactive';

/** What the decision depends on. Without a user, the app is opened by an access view for anyone. */
type AccessFacts = {
  client_is_open: boolean;
  in_maintenance: boolean;
  user: { is_active: boolean; has_access: boolean } | null;
};

export const decideAccess = ({ client_is_open, in_maintenance, user }: AccessFacts): AppAccess => {
  if (user && !user.is_active) return 'user-inactive';
  if (user && !user.has_access) return 'not-granted';
  if (!client_is_open) return 'client-closed';
  return in_maintenance ? 'in-maintenance' : 'allowed';
};

/** SQL: whether the user of a row of `users` may open the app of a row of `apps`: those that `appVisibleTo` shows them. */
const hasAccess = condition`(users.is_superuser or users.is_staff
  or exists (select from memberships m where m.user_id = users.id and m.client_id = apps.client_id and m.is_admin)
  or exists (select from app_grants g where g.user_id = users.id and g.app_id = apps.id))`;

/** Apps with what decides who may open them, and what their tickets say of them. */
export const openableApps = (db: Kysely<Database>) =>
  db
    .selectFrom('apps')
    .innerJoin('clients', 'clients.id', 'apps.client_id')
    .select([
      'apps.id as app_id',
      'apps.slug as app_slug',
      'apps.label as app_label',
      'apps.launch_url',
      'apps.in_maintenance',
      'clients.id as client_id',
      'clients.name as client_name',
      'clients.is_open as client_is_open',
      'clients.embed_origins',
    ]);

/** Openable apps, each with every user: filter both. */
export const openableAppsOfUsers = (db: Kysely<Database>) =>
  openableApps(db)
    .innerJoin('users', (join) => join.onTrue())
    .select([
      'users.id as user_id',
      'users.handle',
      'users.email',
      'users.is_active',
      'users.is_demo_user',
      'users.is_superuser',
      'users.is_staff',
      'users.extra',
    ])
    .select(sql<string>`trim(users.first_name || ' ' || users.last_name)`.as('name'))
    .select(
      condition`exists (select from memberships m
        where m.user_id = users.id and m.client_id = apps.client_id and m.is_admin)`.as('is_client_admin'),
    )
    .select(hasAccess.as('has_access'));

export type OpenableApp = Awaited<ReturnType<ReturnType<typeof openableApps>['execute']>>[number];
export type OpenableAppOfUser = Awaited<
  ReturnType<ReturnType<typeof openableAppsOfUsers>['execute']>
>[number];

/** The facts of a row of `openableAppsOfUsers`. */
export const factsOf = ({ is_active, has_access, ...app }: OpenableAppOfUser): AccessFacts => ({
  ...app,
  user: { is_active, has_access },
});

/** The facts of a view that opens the app as this user: as a superuser or staff only if a superuser made it for one. */
export const factsOfView = (user: OpenableAppOfUser, isBySuperuser: boolean): AccessFacts =>
  factsOf({
    ...user,
    has_access: user.has_access && (isBySuperuser || !(user.is_superuser || user.is_staff)),
  });

/** SQL: whether a row of `access_views` opens from this address; without one, only views for any network do. */
export const isInNetwork = (address: string | null): RawBuilder<boolean> => condition`
  (cardinality(allowed_networks) = 0
    or coalesce(${address}::inet <<= any(allowed_networks::inet[]), false))`;

/** The roles that a ticket names. */
export const rolesOf = (user: OpenableAppOfUser): string[] => {
  const roles = [
    user.is_superuser && 'superuser',
    user.is_staff && 'staff',
    user.is_client_admin && 'client-admin',
  ].filter((role) => role !== false);
  return roles.length > 0 ? roles : ['member'];
};
