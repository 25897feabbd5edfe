import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { TicketError, type VerifiedTicket, verifyTicket } from '../client/tickets.ts';
import type { Config } from '../config/config.ts';
import { type Html, html } from '../lib/html.ts';
import { leadsToApi } from '../lib/urls.ts';
import { sendDemoPage } from './demo-page.ts';
import { serveOpenidApp } from './openid-app.ts';

/**
 * A small app like the ones that Steward opens. `steward demo` serves it for each app; an app on another host would work in the same way.
 * It learns who the person is only from the ticket, and uses only two URLs of Steward.
 */

/** `issuer` is Steward's public URL, as in tickets and links; `steward` the URL at which this app reaches it. */
type StewardUrls = { issuer: string; steward: string };

type AppRequest = { Params: { slug: string }; Querystring: { code?: unknown } };

/** Sets the URL of apps without a `launch_url`, unless APP_URL does. */
export const withDemoAppUrl = (config: Config): Config =>
  leadsToApi(config.appUrl) ? { ...config, appUrl: `${config.baseUrl}/demo-apps/{slug}/` } : config;

const COOKIE = 'demo_app';
const SESSION_MS = 10 * 60_000;
const MAX_SESSIONS = 1_000;

type Deps = StewardUrls & { store: Config['appStore'] };

/** Adds the apps to a server that does not listen yet. */
export const serveDemoApps = (server: FastifyInstance, { issuer, steward, store }: Deps): void => {
  const sessions = createSessions();
  serveOpenidApp(server, { issuer, steward });

  // For `npm run demo:gated`, which publishes packages there.
  server.get('/demo-apps/', async () =>
    store.kind === 'folder' ? `file:${store.dir}` : `s3://${store.bucket}/${store.prefix}`,
  );

  server.get<AppRequest>('/demo-apps/:slug/', async (request, reply) => {
    const { slug } = request.params;
    const launchUrl = `${issuer}/launch/${encodeURIComponent(slug)}/`;
    const { code } = request.query;
    if (typeof code === 'string') {
      const claims = await redeemCode({ issuer, steward }, slug, code).catch((error: unknown) => {
        if (error instanceof CodeRefused || error instanceof TicketError) return null;
        throw error;
      });
      if (claims === null) return closedPage(reply, launchUrl, 'This link was used before, or has expired.');
      const path = `/demo-apps/${encodeURIComponent(slug)}/`;
      // A redirect, so that the code is neither in the address bar nor in the history, and a reload does not send it again.
      return reply
        .setCookie(COOKIE, sessions.start(claims), {
          path,
          httpOnly: true,
          sameSite: 'lax',
          secure: issuer.startsWith('https:'),
        })
        .redirect(issuer + path, 303);
    }
    const claims = sessions.find(request.cookies[COOKIE], slug);
    return claims === null
      ? closedPage(reply, launchUrl, NO_SESSION)
      : appPage(reply, claims, { launchUrl, checks: checks.get(slug) ?? 0 });
  });

  /** The only change that these apps make. */
  const checks = new Map<string, number>();
  server.register(async (forms) => {
    forms.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string' },
      (_request, _body, done) => done(null),
    );
    forms.post<AppRequest>('/demo-apps/:slug/checks/', async (request, reply) => {
      const { slug } = request.params;
      const launchUrl = `${issuer}/launch/${encodeURIComponent(slug)}/`;
      const claims = sessions.find(request.cookies[COOKIE], slug);
      if (claims === null) return closedPage(reply, launchUrl, NO_SESSION);
      // Not only the page: a request can be sent without the form.
      if (claims.readOnly)
        return sendDemoPage(reply.code(403), {
          title: 'Read-only',
          body: html`<main><h1>You look at this app read-only</h1></main>`,
        });
      checks.set(slug, (checks.get(slug) ?? 0) + 1);
      return reply.redirect(`${issuer}/demo-apps/${encodeURIComponent(slug)}/`, 303);
    });
  });
};

const NO_SESSION = 'This app has no session of yours, or it has ended.';

class CodeRefused extends Error {}

/**
 * The claims of the person for whom the code was issued.
 * @throws CodeRefused, TicketError
 */
const redeemCode = async (
  { issuer, steward }: StewardUrls,
  slug: string,
  code: string,
): Promise<VerifiedTicket> => {
  const response = await fetch(`${steward}/api/v1/gate/exchange/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code, app: slug }),
  });
  if (response.status === 400) throw new CodeRefused();
  if (!response.ok) throw new Error(`The exchange of a code failed with status ${response.status}.`);
  const { ticket } = (await response.json()) as { ticket: string }; // as in the OpenAPI document
  return verifyTicket(ticket, { issuer, app: slug, jwksUrl: `${steward}/.well-known/jwks.json` });
};

/**
 * The app's own sessions, in the memory of this process: with WORKERS, each process has its own. They are short, because until they end,
 * the app does not notice that Steward has withdrawn the access.
 */
const createSessions = () => {
  const sessions = new Map<string, { claims: VerifiedTicket; expiresAt: number }>();
  return {
    /** @returns the secret of the session */
    start: (claims: VerifiedTicket): string => {
      const secret = randomBytes(32).toString('base64url');
      // A look as another person can end at any time: it lasts no longer than the ticket.
      const lifetimeMs = claims.readOnly ? (claims.exp - claims.iat) * 1000 : SESSION_MS;
      sessions.set(secret, { claims, expiresAt: performance.now() + lifetimeMs });
      const [oldest] = sessions.keys();
      if (sessions.size > MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
      return secret;
    },
    find: (secret: string | undefined, slug: string): VerifiedTicket | null => {
      const session = sessions.get(secret ?? '');
      const isValid = session?.claims.app.slug === slug && session.expiresAt > performance.now();
      return isValid ? session.claims : null;
    },
  };
};

const LIST = new Intl.ListFormat('en', { type: 'disjunction' });
const NUMBER = new Intl.NumberFormat('en');

type Shown = { launchUrl: string; checks: number };

const appPage = (reply: FastifyReply, claims: VerifiedTicket, { launchUrl, checks }: Shown): FastifyReply => {
  const { app, client, stack, name, email, roles, app_roles, data_permissions, actor, readOnly } = claims;
  const all = rowsOf(app.slug);
  const rows = permittedRows(all, data_permissions);
  return sendDemoPage(reply, {
    title: app.label,
    body: html`<header><strong>${app.label}</strong> <span class="muted">${client.name}</span></header>
<main>
${actor !== null && html`<p class="banner" role="status"><strong>${actor.email} is looking as ${email} — read-only</strong> <a href="${launchUrl}">End</a></p>`}
<h1>Hello, ${name || 'guest'}</h1>
<p>${describeOpening(claims)} Roles: ${[...roles, ...app_roles].join(', ')}.${stack !== null && html` Page: ${stack}.`}</p>
<p class="notice">${describePermissions(data_permissions, rows.length, all.length)}</p>
${rows.length > 0 && tableOf(app.label, rows)}
<form method="post" action="checks/"><button${readOnly && html` disabled`}>I have checked these numbers</button>
<span class="muted">Checked ${checks} times</span></form>
<details>
<summary>What the ticket says</summary>
<pre>${JSON.stringify(claims, null, 2)}</pre>
</details>
</main>`,
  });
};

/** For a browser without a session of the app. */
const closedPage = (reply: FastifyReply, launchUrl: string, reason: string): FastifyReply =>
  sendDemoPage(reply.code(401), {
    title: 'Not open',
    body: html`<main>
<h1>Open this app through Steward</h1>
<p>${reason}</p>
<p><a href="${launchUrl}">Open it again</a></p>
</main>`,
  });

const describeOpening = ({ email, access_view }: VerifiedTicket): string => {
  const person = email === null ? '' : ` You are ${email}.`;
  return access_view === null ? person.trim() : `An access view opened this app.${person}`;
};

const describePermissions = (permissions: VerifiedTicket['data_permissions'], seen: number, all: number) => {
  if (permissions === null) return `You have no data permissions, so you see all ${all} rows.`;
  const conditions = Object.entries(permissions).map(
    ([column, values]) => `${column} is ${LIST.format([values].flat().map(String)) || 'nothing'}`,
  );
  return `Your data permissions show you ${seen} of ${all} rows: ${conditions.join('; ')}.`;
};

const tableOf = (caption: string, rows: readonly Row[]): Html => {
  const columns = Object.keys(rows[0] ?? {});
  return html`<div class="scroll"><table>
<caption>${caption}</caption>
<thead><tr>${columns.map((column) => headingOf(column, rows))}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${columns.map((column) => cellOf(row[column] ?? ''))}</tr>\n`)}</tbody>
</table></div>`;
};

const headingOf = (column: string, [row]: readonly Row[]): Html =>
  html`<th scope="col" class="${typeof row?.[column] === 'number' ? 'number' : ''}">${column}</th>`;

const cellOf = (value: string | number): Html =>
  typeof value === 'number' ? html`<td class="number">${NUMBER.format(value)}</td>` : html`<td>${value}</td>`;

type Row = Record<string, string | number>;

/** By slug: a column with its values, and a column of numbers. */
const TABLES: Record<string, [column: string, values: string[], measure: string]> = {
  sales: ['product', ['Bicycles', 'Helmets', 'Locks'], 'revenue'],
  churn: ['reason', ['Price', 'Moved away', 'Service'], 'customers'],
  forecast: ['quarter', ['Q1', 'Q2'], 'revenue'],
  pricing: ['product', ['Bicycles', 'Helmets', 'Locks'], 'price'],
  fleet: ['vehicle', ['Van 11', 'Truck 3'], 'idle hours'],
  charging: ['station', ['Depot A', 'Depot C'], 'kWh'],
  warehouse: ['article', ['Tyres', 'Batteries'], 'stock'],
  orders: ['month', ['September', 'October'], 'orders'],
  suppliers: ['supplier', ['Fjord Foods', 'Danube Mills'], 'late deliveries'],
};
const REGIONS = ['North', 'South', 'West', 'East'];

/** Sample data. A real app would ask its database for the rows that the person may see. */
const rowsOf = (slug: string): Row[] => {
  const [column, values, measure] = TABLES[slug] ?? ['group', ['A', 'B'], 'count'];
  return REGIONS.flatMap((region, place) =>
    values.map((value, index) => ({
      region,
      [column]: value,
      [measure]: 10 + ((place * 37 + index * 61) % 90),
    })),
  );
};

/**
 * The rows that data permissions allow: `{ "region": ["North"] }` allows the rows whose region is North. Null allows all rows. A column
 * that the table does not have allows no rows: an app must not ignore a restriction that it does not understand.
 */
const permittedRows = (rows: readonly Row[], permissions: Record<string, unknown> | null): Row[] =>
  rows.filter((row) =>
    Object.entries(permissions ?? {}).every(
      ([column, values]) => Object.hasOwn(row, column) && [values].flat().includes(row[column]),
    ),
  );
