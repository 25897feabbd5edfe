import { createHash, randomUUID } from 'node:crypto';
import { initTRPC, TRPCError } from '@trpc/server';
import type { Kysely } from 'kysely';
import type { Database } from '../../../entities/index.ts';

export type Context = { db: Kysely<Tables>; baseUrl: string; authorization: string; address: string };

const t = initTRPC.context<Context>().create();
export const { router } = t;

/** Requires the token of an active user who can view all clients. */
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

type Event = { action: string; target_label: string; client_ids: number[]; details: Record<string, unknown> };
type By = Pick<Context, 'address'> & { user: { email: string } };

export const record = async (tx: Kysely<Tables>, { user, address }: By, events: readonly Event[]) => {
  if (events.length === 0) return;
  const origin = { occurred_at: new Date(), request_id: randomUUID(), address, actor_label: user.email };
  await tx
    .insertInto('audit_entries')
    .values(events.map((event) => ({ ...origin, ...event })))
    .execute();
};

type Windows = Record<'actions30' | 'users30' | 'actions60' | 'users60' | 'actions90' | 'users90', number>;

export type Tables = Database & { 'bench_peers.counted_windows': Windows & { app_id: string } };
