import { TRPCError } from '@trpc/server';
import { type Kysely, sql } from 'kysely';
import { type Context, record, type Tables } from './context.ts';

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

export const toUser =
  ({ baseUrl }: Pick<Context, 'baseUrl'>) =>
  (user: Row) => ({
    ...user,
    extra: user.extra as Record<string, unknown>, // the column holds objects
    profile_avatar:
      user.profile_avatar ?? `${baseUrl}/avatars/${/[a-z0-9]/.exec(user.email)?.[0] ?? 'x'}.svg`,
  });

export const lockUser = async (tx: Kysely<Tables>, email: string) => {
  const user = await userRows(tx)
    .select('u.id')
    .select(sql<number[]>`array(select client_id from memberships m where m.user_id = u.id)`.as('clients'))
    .where('u.email', '=', email)
    .forUpdate('u')
    .executeTakeFirst();
  if (!user) throw new TRPCError({ code: 'NOT_FOUND' });
  if (user.clientadmin_of.length > 0) throw new TRPCError({ code: 'FORBIDDEN' });
  return user;
};

type App = { id: string; client_id: number };

export const replaceApps = async (
  tx: Kysely<Tables>,
  userId: number,
  apps: readonly App[],
): Promise<void> => {
  const others = tx.deleteFrom('app_grants').where('user_id', '=', userId);
  if (apps.length === 0) {
    await others.execute();
    return;
  }
  const ids = apps.map(({ id }) => id);
  await others.where('app_id', 'not in', ids).execute();
  await tx
    .insertInto('app_grants')
    .values(ids.map((id) => ({ user_id: userId, app_id: id })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await tx
    .insertInto('memberships')
    .values([...new Set(apps.map((app) => app.client_id))].map((id) => ({ client_id: id, user_id: userId })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
};

type Changes = Context & {
  user: { email: string };
  before: Awaited<ReturnType<typeof lockUser>>;
  input: { first_name: string; apps: string[] };
  apps: readonly App[];
};

export const recordChanges = async (
  tx: Kysely<Tables>,
  { before, input, apps, ...ctx }: Changes,
): Promise<void> => {
  const events = [];
  if (before.first_name !== input.first_name) {
    const details = { first_name: { from: before.first_name, to: input.first_name } };
    events.push({ action: 'user.update', target: before.email, client_ids: before.clients, details });
  }
  const changed = apps.filter(({ id }) => input.apps.includes(id) !== before.apps.includes(id));
  for (const [client, ofClient] of Map.groupBy(changed, (app) => app.client_id)) {
    const ids = ofClient.map(({ id }) => id);
    const details = {
      granted: ids.filter((id) => input.apps.includes(id)),
      revoked: ids.filter((id) => before.apps.includes(id)),
    };
    events.push({ action: 'user.change-apps', target: before.email, client_ids: [client], details });
  }
  await record(tx, ctx, events);
};
