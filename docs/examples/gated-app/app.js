import { createServer } from 'node:http';
import { verifyTicket } from '@steward/client/tickets';

/** Sample data. A real app would ask its database for the rows that the person may see. */
const SALES = [
  { region: 'North', product: 'Bicycles', revenue: 120_400 },
  { region: 'North', product: 'Helmets', revenue: 18_250 },
  { region: 'South', product: 'Bicycles', revenue: 87_900 },
  { region: 'West', product: 'Trailers', revenue: 45_100 },
];

const { STEWARD_URL: issuer = 'http://localhost:8000', PORT = '4010' } = process.env;

/** `{ "region": ["North"] }` shows the North only. Without data permissions, a person sees everything. */
const visibleTo = (permissions) =>
  SALES.filter((row) =>
    Object.entries(permissions ?? {}).every(([column, values]) => [values].flat().includes(row[column])),
  );

const escapeHtml = (text) => text.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

const banner = ({ actor, email }) =>
  actor === null
    ? ''
    : `<p role="status"><b>${escapeHtml(`${actor.email} is looking as ${email} — read-only`)}</b></p>`;

const page = ({ name, app, access_view, data_permissions, ...claims }) => `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>${escapeHtml(app.label)}</title>
${banner(claims)}
<h1>Hello, ${escapeHtml(name || 'guest')}</h1>
<p>${access_view === null ? 'You are logged in.' : 'A link opened this app for you.'}</p>
<table><caption>${escapeHtml(app.label)}</caption>
<tr><th>Region<th>Product<th>Revenue</tr>
${visibleTo(data_permissions)
  .map(({ region, product, revenue }) => `<tr><td>${region}<td>${product}<td>${revenue}</tr>`)
  .join('\n')}
</table>`;

createServer(async (request, response) => {
  // The proxy has asked Steward and adds the ticket. It removes this header from requests of browsers.
  const ticket = request.headers['x-steward-ticket'];
  const slug = request.url.split('/')[1];
  try {
    const claims = await verifyTicket(String(ticket), { issuer, app: slug });
    if (claims.readOnly && request.method !== 'GET')
      return response.writeHead(403).end('You look at this app read-only.\n');
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
    response.end(page(claims));
  } catch (error) {
    response.writeHead(401, { 'content-type': 'text/plain' }).end(`${error.message}\n`);
  }
}).listen(Number(PORT), '127.0.0.1');
