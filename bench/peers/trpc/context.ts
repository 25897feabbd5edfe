import { createHash } from 'node:crypto';
import { initTRPC, TRPCError } from '@trpc/server';
import type { Kysely } from 'kysely';
import type { Tables } from './tables.ts';

export type Context = { db: Kysely<Tables>; baseUrl: string; authorization: string; address: string };

const t = initTRPC.context<Context>().create();
export const { router } = t;

/** For somebody active who may see all, by a token. */
export const staff = t.procedure.use(async ({ ctx, next }) => {
  const [, token = ''] = /^Token (\S+)$/.exec(ctx.authorization) ?? [];
  const user = await ctx.db
    .selectFrom('api_tokens as t')
    .innerJoin('users as u', 'u.id', 't.user_id')
    .select(['u.id', 'u.email', 'u.is_superuser', 'u.is_staff'])
    .where('t.digest', '=', createHash('sha256').update(token).digest('hex'))
    .where('u.is_active', '=', true)
    .executeTakeFirst();
  if (!user || !(user.is_superuser || user.is_staff)) throw new TRPCError({ code: 'UNAUTHORIZED' });
  return next({ ctx: { ...ctx, user } });
});

export const superuser = staff.use(({ ctx, next }) => {
  if (!ctx.user.is_superuser) throw new TRPCError({ code: 'FORBIDDEN' });
  return next();
});
