import { type Kysely, sql } from 'kysely';
import type { Context } from './context.ts';
import type { Tables } from './tables.ts';

export const userRows = (db: Kysely<Tables>) =>
  db
    .selectFrom('users as u')
    .select([
      'u.email',
      'u.handle',
      'u.first_name',
      'u.last_name',
      'u.extra',
      'u.is_active',
      'u.is_demo_user',
    ])
    .select(['u.profile_color', 'u.profile_avatar', 'u.last_login', 'u.date_joined', 'u.last_activated'])
    .select('u.last_deactivated')
    .select([
      sql<string[]>`array(select a.id from app_grants g join apps a on a.id = g.app_id
        where g.user_id = u.id order by a.created_at, a.id)`.as('apps'),
      sql<number[]>`array(select m.client_id from memberships m
        where m.user_id = u.id and m.is_admin order by m.client_id)`.as('clientadmin_of'),
    ])
    .orderBy('u.id');

type Row = Awaited<ReturnType<ReturnType<typeof userRows>['execute']>>[number];

export const shown =
  ({ baseUrl }: Pick<Context, 'baseUrl'>) =>
  (user: Row) => ({
    ...user,
    extra: user.extra as Record<string, unknown>, // the column holds objects
    profile_avatar:
      user.profile_avatar ?? `${baseUrl}/avatars/${/[a-z0-9]/.exec(user.email)?.[0] ?? 'x'}.svg`,
  });
