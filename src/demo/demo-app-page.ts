import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import type { TicketClaims } from '../client/tickets.ts';
import { type Html, html, htmlDocument, trusted } from '../lib/html.ts';
import { permittedRows, type Row, rowsOf } from './demo-app-data.ts';

const CSS = readFileSync(new URL('demo-app.css', import.meta.url), 'utf8');
const STYLE_HASH = createHash('sha256').update(CSS).digest('base64');

const LIST = new Intl.ListFormat('en', { type: 'disjunction' });
const NUMBER = new Intl.NumberFormat('en');

/** What the person of a ticket sees of the app. */
export const appPage = (reply: FastifyReply, claims: TicketClaims): FastifyReply => {
  const { app, client, stack, name, roles, data_permissions } = claims;
  const all = rowsOf(app.slug);
  const rows = permittedRows(all, data_permissions);
  return send(reply, {
    title: app.label,
    body: html`<header><strong>${app.label}</strong> <span class="muted">${client.name}</span></header>
<main>
<h1>Hello, ${name || 'guest'}</h1>
<p>${describeOpening(claims)} Roles: ${roles.join(', ')}.${stack !== null && html` Page: ${stack}.`}</p>
<p class="notice">${describePermissions(data_permissions, rows.length, all.length)}</p>
${rows.length > 0 && tableOf(app.label, rows)}
<details>
<summary>What the ticket says</summary>
<pre>${JSON.stringify(claims, null, 2)}</pre>
</details>
</main>`,
  });
};

/** For a browser that the app does not know. */
export const closedPage = (reply: FastifyReply, launchUrl: string, reason: string): FastifyReply =>
  send(reply.code(401), {
    title: 'Not open',
    body: html`<main>
<h1>Open this app through Steward</h1>
<p>${reason}</p>
<p><a href="${launchUrl}">Open it again</a></p>
</main>`,
  });

const describeOpening = ({ email, access_view }: TicketClaims): string => {
  const person = email === null ? '' : ` You are ${email}.`;
  return access_view === null ? person.trim() : `An access view opened this app.${person}`;
};

const describePermissions = (permissions: TicketClaims['data_permissions'], seen: number, all: number) => {
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

const send = (reply: FastifyReply, { title, body }: { title: string; body: Html }): FastifyReply =>
  reply
    .type('text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .header(
      'content-security-policy',
      `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    )
    .send(htmlDocument({ title, head: html`<style>${trusted(CSS)}</style>`, body }).toString());
