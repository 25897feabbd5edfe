import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { router, staff, superuser } from './context.ts';
import { lockUser, recordChanges, replaceApps, toUser, userRows } from './user-rows.ts';

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
