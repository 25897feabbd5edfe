import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { appRouter } from '../../routers/index.ts';
import type { ProcedureMeta } from '../../routers/procedure-meta.ts';
import { REST_ENDPOINTS } from '../../src/http/rest/endpoints.ts';
import { fillLists, readEndpoints } from '../support/every-read.ts';
import { rejectsWith } from '../support/rejects.ts';
import { setRows } from '../support/rows.ts';
import { problemIn } from '../support/second-factors.ts';
import { ACME, appSuite, EDSGER, GLOBEX, ROOT, restPath, type TestApp } from '../support/test-app.ts';

/** A superuser who administers both clients, with a token that is confined to Acme. */
const confined = appSuite('a session that is confined to a client');
const EVERYWHERE = 'everywhere@acme.test';
const FLEET = 'Hb7cW2ke';

const connect = async (app: TestApp, client: number): Promise<number> => {
  const provider = { name: 'ID', issuer: 'https://login.test', client_id: 'steward' };
  return (await app.as(ROOT).sso.create({ id: client, ...provider })).id;
};

confined.before(async ({ app }) => {
  await fillLists(app);
  await app.as(ACME).users.create({ email: EVERYWHERE });
  for (const id of [1, 2]) await app.as(ROOT).roles.setClientAdmin({ id, email: EVERYWHERE, is_admin: true });
  await app.as(ROOT).roles.update({ email: EVERYWHERE, is_staff: true, is_superuser: true });
  await app.as(EVERYWHERE).savedFilters.create({ stack_id: 'd3d64b79', hash: 'globex-1', name: 'of Globex' });
  const view = { list: 'people', name: 'People of Globex', search: { search: 'globex' } } as const;
  await app.as(EVERYWHERE).listViews.create(view);
  await app.as(EVERYWHERE).listViews.create({ ...view, client: 2 });
  await app.as(GLOBEX).listViews.create({ ...view, client: 2, is_shared: true });
  await app
    .as(GLOBEX)
    .groups.create({ id: 2, name: 'Globex team', members: [EDSGER, EVERYWHERE], apps: [FLEET] });
  await app.as(GLOBEX).webhooks.create({ url: 'https://hooks.globex.test/', client: 2 });
  await app.as(EVERYWHERE).tokens.createNamed({ name: 'globex everywhere' });
  await app.confine(EVERYWHERE, await connect(app, 1));
});

type Definition = { type: string; meta?: ProcedureMeta };
const PROCEDURES = Object.entries(
  appRouter._def.procedures as unknown as Record<string, { _def: Definition }>,
).map(([name, { _def }]) => ({ name, ..._def }));

confined('meets a declaration of what it reaches in every procedure that asks who calls', () => {
  const undeclared = PROCEDURES.filter(({ meta }) => !meta?.isPublic && meta?.reach === undefined);
  assert.is(undeclared.map(({ name }) => name).join(), '');
});

confined('may call no procedure that reaches the account or the installation', async ({ app }) => {
  const beyond = new Set(PROCEDURES.flatMap(({ name, meta }) => (meta?.reach === 'client' ? [] : name)));
  const endpoints = REST_ENDPOINTS.filter(({ procedure, isPublic }) => beyond.has(procedure) && !isPublic);
  assert.ok(endpoints.length > 30);
  for (const { method, url } of endpoints) {
    const path = restPath(url).replaceAll(/:\w+/g, '1');
    const payload = method !== 'GET' && { payload: {} };
    const response = await app.send(`${method} ${path}`, { as: EVERYWHERE, ...payload });
    assert.equal([response.statusCode, problemIn(response)], [403, 'confined-session'], `${method} ${url}`);
  }
});

confined('reads nothing of another client of the person', async ({ app }) => {
  for (const { path, endpoint } of readEndpoints()) {
    const { statusCode, body } = await app.send(`GET ${path}`, { as: EVERYWHERE });
    assert.ok(statusCode < 500, path);
    const shown = endpoint.isPublic ? '' : body;
    assert.not.match(shown, /globex|Hb7cW2ke|d3d64b79/i, path);
  }
});

confined('has the roles and the apps of its client in the own User object', async ({ app }) => {
  const own = (await app.as(EVERYWHERE).sessions.current({}))?.roles;
  assert.equal(own, { is_superuser: false, is_staff: false, admin_of: [1], client_roles: {} });
  const user = await app.as(EVERYWHERE).users.get({ email: EVERYWHERE });
  assert.equal(user.clientadmin_of, [1]);
  const memberships = await app.as(EVERYWHERE).memberships.list({ email: EVERYWHERE });
  assert.equal(memberships.map(({ client }) => client).join(), '1');
});

confined('opens no app of another client, and none as a superuser', async ({ app }) => {
  const ticket = (app_id: string) => app.as(EVERYWHERE).apps.openTicket({ app_id });
  await rejectsWith(ticket(FLEET), 'not-found');
  const { ticket: opened } = await ticket('zylTKNVx');
  const claims = JSON.parse(Buffer.from(opened.split('.')[1] ?? '', 'base64url').toString());
  assert.equal(claims.roles, ['client-admin'], 'not that of a superuser');
});

confined('makes tokens that are confined to the same client, and sees no others', async ({ app }) => {
  const made = await app.as(EVERYWHERE).tokens.createNamed({ name: 'of Acme' });
  const get = (path: string) =>
    app.send(`GET ${path}`, { headers: { authorization: `Token ${made.token}` } });
  const clients: { id: number }[] = (await get('/jb/clients/')).json();
  assert.equal([clients.length, clients[0]?.id], [1, 1]);
  assert.is((await get('/mfa/')).statusCode, 403);
  const names = (await app.as(EVERYWHERE).tokens.list({})).map(({ name }) => name);
  assert.equal(names.filter(Boolean), ['of Acme']);
  const { token } = await app.as(null).tokens.refresh({ token: made.token });
  const refreshed = await app.send('GET /jb/clients/2/', { headers: { authorization: `Token ${token}` } });
  assert.is(refreshed.statusCode, 404);
});

confined('ends with the membership of its client', async ({ app }) => {
  const email = 'leaver@acme.test';
  await app.as(ACME).users.create({ email });
  await app.as(GLOBEX).invitations.create({ items: [{ email }] });
  await app.confine(email, await connect(app, 1));
  await app.as(ACME).memberships.remove({ id: 1, email });
  assert.is((await app.send('GET /jb/apps/', { as: email })).statusCode, 401);
});

confined('counts for the clients that require no other provider, once one does', async ({ app }) => {
  const email = 'of.both@acme.test';
  await app.as(ACME).users.create({ email, apps: ['zylTKNVx'] });
  await app.as(ROOT).users.update({ email, apps: ['zylTKNVx', FLEET] });
  const appsOf = async () => (await app.as(email).apps.list({})).map(({ id }) => id);
  assert.equal(await appsOf(), ['zylTKNVx', FLEET]);
  const required = await connect(app, 1);
  await setRows(app, 'sso_connections', { id: required }, { is_active: true, is_required: true });
  assert.equal(await appsOf(), [FLEET]);
  await rejectsWith(app.as(email).apps.openTicket({ app_id: 'zylTKNVx' }), 'not-found');
  await app.confine(email, required);
  assert.equal(await appsOf(), ['zylTKNVx']);
  assert.equal((await app.as(ROOT).apps.list({})).length > 2, true, 'superusers are not concerned');
  await sql`delete from sso_connections where id = ${required}`.execute(app.db());
});

confined('has the data of its client in the own User object', async ({ app }) => {
  const email = 'of-two@acme.test';
  await app.as(ROOT).users.create({ email, apps: ['zylTKNVx', FLEET], extra: { of: 'both' } });
  await app.as(GLOBEX).users.update({ email, extra: { of: 'two' } });
  const own = async () => (await app.as(email).users.get({ email })).extra;

  assert.equal(await own(), { of: 'both' });
  await app.confine(email, await connect(app, 2));
  assert.equal(await own(), { of: 'two' });
});

confined.run();
