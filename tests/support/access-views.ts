import { decodeJwt } from 'jose';
import type { TicketClaims } from '../../src/lib/ticket-claims.ts';
import { tokenDigest } from '../../src/services/auth/credentials.ts';
import { addRows, rowOf, setRows } from './rows.ts';
import { ACME, appSuite, ROOT, type TestApp } from './test-app.ts';
import { SALES } from './usage.ts';

/** What a ticket says, without verifying it. */
export const claimsIn = (ticket: string): TicketClaims => decodeJwt<TicketClaims>(ticket);

/** A ticket for the app Sales. */
export const ticketOf = async (app: TestApp, email: string, stack?: string): Promise<string> =>
  (await app.as(email).apps.openTicket({ app_id: SALES, stack })).ticket;

/** A ticket with these claims changed, signed with the current key. */
export const resign = async (app: TestApp, ticket: string, claims: object): Promise<string> =>
  app.signingKeys.sign({ ...claimsIn(ticket), ...claims });

export const isActive = async (app: TestApp, ticket: string): Promise<boolean> =>
  (await app.as(ROOT).tickets.introspect({ token: ticket })).active;

export const setApp = async (app: TestApp, changes: { in_maintenance?: boolean; launch_url?: string }) => {
  await setRows(app, 'apps', { id: SALES }, changes);
};

export const setClient = async (app: TestApp, id: number, isOpen: boolean) => {
  await setRows(app, 'clients', { id }, { is_open: isOpen });
};

export const userId = async (app: TestApp, email: string): Promise<number> =>
  (await rowOf(app, 'users', { email })).id;

type UsedView = {
  user?: string | null;
  data_permissions?: Record<string, unknown> | null;
  selections?: Record<string, unknown>;
  expires_at?: Date | null;
  by_superuser?: boolean;
};

/** A view of the app Sales that was used once. */
export const usedView = async (app: TestApp, { user = null, ...columns }: UsedView = {}) => {
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
      access_view_id: view.id,
      used_at: now,
      raw_key: key,
      user_id,
      selections: {},
      autorotate: false,
      show_header: true,
      show_footer: false,
      language_code: 'de',
      ip_address: '',
      user_agent: '',
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { key, viewId: view.id, useId: use.id };
};

export const LAUNCH_URL = 'https://sales.example.com/start?from=steward';

/** A suite that opens access views of the app Sales. */
export const viewSuite = (name: string) => {
  const views = appSuite(name, { BASE_URL: 'https://steward.test' });
  views.before(({ app }) => setApp(app, { launch_url: LAUNCH_URL }));
  return views;
};

/** Headers of a browser in which a person opens a page. */
export const PERSON = {
  accept: 'text/html,application/xhtml+xml',
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)',
};
export type Headers = Record<string, string | undefined>;

/** A person opens a view. The link of one whose uses are counted shows a button; this is what it sends. */
export const openView = (app: TestApp, key: string, headers: Headers = {}) =>
  app.send(`POST !/v/${key}/`, { headers: { ...PERSON, ...headers } });

export type NewView = Parameters<ReturnType<TestApp['as']>['accessViews']['create']>[0];

export const createView = (app: TestApp, input: NewView = {}) =>
  app.as(ACME).accessViews.create({ app: 'sales', ...input });

export const viewOf = (app: TestApp, key: string) => app.as(ACME).accessViews.get({ key });

export type GateOptions = { as?: string; headers?: Record<string, string> };

/** Asks as a proxy does that forwards the credentials of a browser. */
export const askGate = (app: TestApp, options: GateOptions = {}, path = '/gate/sales/') =>
  app.send(`GET !${path}`, options);

/** The cookie of a browser that has opened a view of the app Sales. */
export const openedView = async (app: TestApp, view: Parameters<typeof usedView>[1] = {}) => {
  const { useId, viewId } = await usedView(app, view);
  const secret = `secret-${useId}`;
  const row = { digest: tokenDigest(secret), access_view_use_id: useId };
  const expires_at = new Date(app.clock.now().getTime() + 60_000);
  await addRows(app, 'embed_sessions', { ...row, expires_at });
  return { useId, viewId, secret, headers: { cookie: `__Host-steward_embed_sales=${secret}` } };
};
