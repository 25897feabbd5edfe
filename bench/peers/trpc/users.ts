import { TRPCError } from '@trpc/server';
import { type Kysely, sql } from 'kysely';
import { z } from 'zod';
import { type Context, record, router, staff, superuser, type Tables } from './context.ts';

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
    profile_avatar:
      user.profile_avatar ?? `${baseUrl}/avatars/${/[a-z0-9]/.exec(user.email)?.[0] ?? 'x'}.svg`,
  });

const lockUser = async (tx: Kysely<Tables>, email: string) => {
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

const replaceApps = async (tx: Kysely<Tables>, userId: number, apps: readonly App[]): Promise<void> => {
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
    .values(
      [...new Set(apps.map((app) => app.client_id))].map((id) => ({
        client_id: id,
        user_id: userId,
        joined_at: new Date(),
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
};

type Changes = Context & {
  user: { email: string };
  before: Awaited<ReturnType<typeof lockUser>>;
  input: { first_name: string; apps: string[] };
  apps: readonly App[];
};

const recordChanges = async (tx: Kysely<Tables>, { before, input, apps, ...ctx }: Changes): Promise<void> => {
  const events = [];
  if (before.first_name !== input.first_name) {
    const details = { first_name: { from: null, to: null } };
    events.push({ action: 'user.update', target_label: before.email, client_ids: before.clients, details });
  }
  const changed = apps.filter(({ id }) => input.apps.includes(id) !== before.apps.includes(id));
  for (const [client, ofClient] of Map.groupBy(changed, (app) => app.client_id)) {
    const ids = ofClient.map(({ id }) => id);
    const details = {
      granted: ids.filter((id) => input.apps.includes(id)),
      revoked: ids.filter((id) => before.apps.includes(id)),
    };
    events.push({ action: 'user.change-apps', target_label: before.email, client_ids: [client], details });
  }
  await record(tx, ctx, events);
};

const User = z.object({
  email: z.string(),
  handle: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  extra: z.record(z.string(), z.unknown()),
  is_active: z.boolean(),
  is_demo_user: z.boolean(),
  profile_color: z.string(),
  profile_avatar: z.string(),
  apps: z.array(z.string()),
  clientadmin_of: z.array(z.int()),
  last_login: z.date().nullable(),
  date_joined: z.date(),
  last_activated: z.date().nullable(),
  last_deactivated: z.date().nullable(),
});

export const users = router({
  get: staff
    .input(z.object({ email: z.string() }))
    .output(User)
    .query(async ({ ctx, input }) => {
      const user = await userRows(ctx.db).where('u.email', '=', input.email).executeTakeFirst();
      if (!user) throw new TRPCError({ code: 'NOT_FOUND' });
      return toUser(ctx)(user);
    }),

  list: staff
    .input(z.object({ app: z.string().optional() }))
    .output(z.array(User))
    .query(async ({ ctx, input: { app } }) => {
      const all = userRows(ctx.db);
      const ofApp = all
        .innerJoin('app_grants as x', 'x.user_id', 'u.id')
        .innerJoin('apps', 'apps.id', 'x.app_id')
        .where('apps.slug', '=', app ?? '');
      return (await (app === undefined ? all : ofApp).execute()).map(toUser(ctx));
    }),

  update: superuser
    .input(z.object({ email: z.string(), first_name: z.string().max(150), apps: z.array(z.string()) }))
    .output(User)
    .mutation(({ ctx, input }) =>
      ctx.db.transaction().execute(async (tx) => {
        const before = await lockUser(tx, input.email);
        const apps = await tx
          .selectFrom('apps')
          .select(['id', 'client_id', 'created_at'])
          .where('id', 'in', [...new Set([...input.apps, ...before.apps])])
          .orderBy('created_at')
          .orderBy('id')
          .execute();
        const asked = apps.filter(({ id }) => input.apps.includes(id));
        if (asked.length !== new Set(input.apps).size) throw new TRPCError({ code: 'BAD_REQUEST' });

        await tx
          .updateTable('users')
          .set({ first_name: input.first_name })
          .where('id', '=', before.id)
          .execute();
        await replaceApps(tx, before.id, asked);
        await recordChanges(tx, { ...ctx, before, input, apps });
        return toUser(ctx)(await userRows(tx).where('u.id', '=', before.id).executeTakeFirstOrThrow());
      }),
    ),
});
