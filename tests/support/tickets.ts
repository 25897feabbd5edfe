import { decodeJwt } from 'jose';
import type { TicketClaims } from '../../src/lib/ticket-claims.ts';
import { ROOT, type TestApp } from './test-app.ts';
import { SALES } from './usage.ts';

/** What a ticket says, without verifying it. */
export const claimsIn = (ticket: string): TicketClaims => decodeJwt<TicketClaims>(ticket);

/** A ticket for the app Sales. */
export const ticketOf = async (app: TestApp, email: string, stack?: string): Promise<string> =>
  (await app.as(email).apps.openTicket({ app_id: SALES, stack })).ticket;

/** A ticket with these claims changed, signed with the current key. */
export const resign = async (app: TestApp, ticket: string, claims: object): Promise<string> =>
  app.signingKeys.sign({ ...claimsIn(ticket), ...claims });

export const isActive = async (app: TestApp, ticket: string, as = ROOT): Promise<boolean> =>
  (await app.as(as).tickets.introspect({ token: ticket })).active;

export const setApp = async (app: TestApp, changes: { in_maintenance?: boolean; launch_url?: string }) => {
  await app.db().updateTable('apps').set(changes).where('id', '=', SALES).execute();
};

export const setClient = async (app: TestApp, id: number, isOpen: boolean) => {
  await app.db().updateTable('clients').set({ is_open: isOpen }).where('id', '=', id).execute();
};

const userId = async (app: TestApp, email: string): Promise<number> =>
  (await app.db().selectFrom('users').select('id').where('email', '=', email).executeTakeFirstOrThrow()).id;

type NewView = {
  user?: string | null;
  data_permissions?: Record<string, unknown> | null;
  selections?: Record<string, unknown>;
  expires_at?: Date | null;
  by_superuser?: boolean;
};

/** A view of the app Sales that was used once. */
export const usedView = async (app: TestApp, { user = null, ...columns }: NewView = {}) => {
  const now = app.clock.now();
  const user_id = user === null ? null : await userId(app, user);
  const key = `key${Math.random().toString(36).slice(2)}`;
  const view = await app
    .db()
    .insertInto('access_views')
    .values({
      key,
      app_id: SALES,
      user_id,
      language_code: 'de',
      show_footer: false,
      created_at: now,
      modified_at: now,
      ...columns,
      selections: columns.selections ?? {},
      data_permissions: columns.data_permissions ?? null,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const use = await app
    .db()
    .insertInto('access_view_uses')
    .values({
      ...{ access_view_id: view.id, used_at: now, raw_key: key, user_id, selections: {}, autorotate: false },
      ...{ show_header: true, show_footer: false, language_code: 'de', ip_address: '', user_agent: '' },
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { key, viewId: view.id, useId: use.id };
};
