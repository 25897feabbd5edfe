import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Context } from './context.ts';
import type { Tables } from './tables.ts';

type Event = { action: string; target: string; client_ids: number[]; details: unknown };
type By = Pick<Context, 'address'> & { user: { email: string } };

export const record = async (tx: Kysely<Tables>, { user, address }: By, events: readonly Event[]) => {
  if (events.length === 0) return;
  const origin = { occurred_at: new Date(), request_id: randomUUID(), address, actor_email: user.email };
  await tx
    .insertInto('audit_entries')
    .values(events.map((event) => ({ ...origin, ...event, details: JSON.stringify(event.details) })))
    .execute();
};
