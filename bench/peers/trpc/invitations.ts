import { randomBytes } from 'node:crypto';
import { TRPCError } from '@trpc/server';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { record, router, superuser, type Tables } from './context.ts';
import { toUser, userRows } from './users.ts';

const Element = z.object({
  email: z.email().max(254).toLowerCase(),
  client: z.int(),
  extra: z.record(z.string(), z.unknown()).default({}),
  initial_apps: z.array(z.string()).default([]),
  is_demo_user: z.boolean().default(false),
});
type Element = z.infer<typeof Element>;

const DAYS_14_MS = 14 * 24 * 3600 * 1000;

export const invitations = router({
  create: superuser
    .input(z.object({ items: z.array(Element).max(10_000) }))
    .mutation(async ({ ctx, input }) => {
      const { items } = input;
      const now = new Date();
      const apps = await appsOf(ctx.db, items);
      await refuseTaken(ctx.db, items);
      const { made, inviter } = await ctx.db.transaction().execute(async (tx) => {
        const rows = await tx
          .insertInto('invitations')
          .values(items.map((item) => rowOf(item, ctx.user.id, now)))
          .returning(['id', 'client_id', 'email', 'key', 'date_invited'])
          .execute();
        const written = rows.flatMap((row, index) => (items[index] ? [{ row, item: items[index] }] : []));
        const pairs = written.flatMap(({ row, item }) =>
          item.initial_apps.map((id) => ({ invitation_id: row.id, app_id: id })),
        );
        if (pairs.length > 0) await tx.insertInto('invitation_apps').values(pairs).execute();
        await tx
          .insertInto('outbox_mails')
          .values(written.map(({ row }) => mailOf(row, now)))
          .execute();
        await record(
          tx,
          ctx,
          written.map(({ row, item }) => ({
            action: 'invitation.create',
            target_label: row.email,
            client_ids: [row.client_id],
            details: { id: row.id, apps: item.initial_apps },
          })),
        );
        const user = await userRows(tx).where('u.id', '=', ctx.user.id).executeTakeFirstOrThrow();
        return { made: written, inviter: toUser(ctx)(user) };
      });
      return made.map(({ row, item }) => ({
        id: row.id,
        user: inviter,
        email: row.email,
        key: row.key,
        initial_apps: apps.filter((id) => item.initial_apps.includes(id)),
        extra: item.extra,
        date_invited: row.date_invited,
        invitation_email_count: 0,
        is_demo_user: String(item.is_demo_user),
      }));
    }),
});

/** Oldest first. */
const appsOf = async (db: Kysely<Tables>, items: readonly Element[]): Promise<string[]> => {
  const asked = [...new Set(items.flatMap((item) => item.initial_apps))];
  if (asked.length === 0) return [];
  const found = await db
    .selectFrom('apps')
    .select(['id', 'client_id'])
    .where('id', 'in', asked)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const clients = new Map(found.map((app) => [app.id, app.client_id]));
  const isForeign = items.some((item) => item.initial_apps.some((id) => clients.get(id) !== item.client));
  if (isForeign) throw new TRPCError({ code: 'BAD_REQUEST' });
  return found.map(({ id }) => id);
};

/** Rejects members and pending invitations. */
const refuseTaken = async (db: Kysely<Tables>, items: readonly Element[]): Promise<void> => {
  const emails = items.map(({ email }) => email);
  const members = await db
    .selectFrom('users as u')
    .innerJoin('memberships as m', 'm.user_id', 'u.id')
    .select(['m.client_id', 'u.email'])
    .where('u.is_active', '=', true)
    .where('u.email', 'in', emails)
    .execute();
  const pending = await db
    .selectFrom('invitations')
    .select(['client_id', 'email'])
    .where('status', '=', 'pending')
    .where('email', 'in', emails)
    .execute();
  const taken = new Set([...members, ...pending].map((row) => `${row.client_id} ${row.email}`));
  const asked = items.map(({ client, email }) => `${client} ${email}`);
  if (new Set(asked).size < asked.length || asked.some((pair) => taken.has(pair))) {
    throw new TRPCError({ code: 'BAD_REQUEST' });
  }
};

const rowOf = (item: Element, inviterId: number, now: Date) => ({
  client_id: item.client,
  email: item.email,
  key: randomBytes(24).toString('base64url'),
  inviter_id: inviterId,
  extra: item.extra,
  is_demo_user: item.is_demo_user,
  date_invited: now,
  expires_at: new Date(now.getTime() + DAYS_14_MS),
});

const mailOf = (row: { id: number; client_id: number; email: string }, now: Date) => ({
  kind: 'invitation' as const,
  recipient: row.email,
  client_id: row.client_id,
  invitation_id: row.id,
  created_at: now,
  next_attempt_at: now,
});
