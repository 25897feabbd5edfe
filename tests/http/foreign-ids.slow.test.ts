import * as assert from 'uvu/assert';
import { type Endpoint, REST_ENDPOINTS } from '../../src/http/rest/endpoints.ts';
import { userId } from '../support/access-views.ts';
import { isWaiting } from '../support/database-sessions.ts';
import { loggedIn } from '../support/logins.ts';
import { addRows, rowOf, rowsOf } from '../support/rows.ts';
import { enroll } from '../support/second-factors.ts';
import {
  ACME,
  ADA,
  appSuite,
  EDSGER,
  GLOBEX,
  GRACE,
  ROOT,
  restPath,
  type TestApp,
} from '../support/test-app.ts';
import { until } from '../support/time.ts';

/** An app of the second client, and one that does not exist. */
const FLEET = ['Hb7cW2ke', 'AAAAAAAA'] as const;
const MISSING_ID = '999999';
/** Invited by the second client. */
const GUEST = 'guest@globex.test';

type Pair = readonly [foreign: string, missing: string];

/** Ids of the second client, and missing. */
const CLIENT = ['2', MISSING_ID] as const;
const PERSON = [EDSGER, 'unknown@globex.test'] as const;
const INVITED = [GUEST, 'unknown@globex.test'] as const;
const SLUG = ['fleet', 'nothing'] as const;
const STACK = ['d3d64b79', '00000000'] as const;

/** Path key, or `{folder} id`, to an id of the second client and to one that does not exist. */
type Ids = Record<string, Pair>;

const KNOWN: Ids = {
  app_id: FLEET,
  app_slug: SLUG,
  app: FLEET,
  stack_id: STACK,
  hash: ['of-edsger', 'of-missing'],
  email: PERSON,
  'clients id': CLIENT,
  'sites id': CLIENT,
  'users/invitations email': INVITED,
};

/** Bodies and queries without which a path fails before its lookup. */
const QUERIES: Record<string, string> = {
  'passwords.previewExpiry': '?days=90',
  'apps.compare': `?people=${ADA},${GRACE}`,
};
const BODIES: Record<string, unknown> = {
  'grants.create': { email: ADA },
  'groups.create': { name: 'Team' },
  'sso.create': { name: 'Acme', issuer: 'https://login.acme.test', client_id: 'steward' },
  'domains.add': { domain: 'foreign.test' },
  'requests.approve': { version: 1 },
  'roles.setInClient': { roles: ['auditor'] },
  'requests.deny': { version: 1 },
  'users.changeEmail': { new_email: 'free@globex.test' },
  'clients.invite': { email: EDSGER, initial_apps: ['Hb7cW2ke'] },
  'users.update': { apps: ['Hb7cW2ke'] },
  'users.viewAs': { app: 'zylTKNVx', reason: 'x', minutes: 1 },
  'invitations.update': { initial_apps: ['Hb7cW2ke'] },
  'usage.record': { email: EDSGER, action: 'X' },
  'mfa.rename': { name: 'x' },
  'roles.setClientAdmin': { is_admin: true },
  'apps.previewMaintenance': { maintenance_message: '' },
  'access.update': { cells: [{ email: EDSGER, app_id: 'Hb7cW2ke', granted: true }] },
  'webhooks.create': { url: 'https://hooks.test/' },
  'serviceAccounts.create': { name: 'Exports', client: 1 },
  'serviceAccounts.createToken': { name: 'Host' },
  'webhooks.replay': { event: 1 },
  'directory.approve': { held: 1, held_until: '2030-01-01T00:00:00Z' },
  'openid.update': { redirect_uris: ['https://fleet.globex.test/callback'] },
  'dataPermissions.setSchema': { schema: null, mode: 'warn' },
  'dataPermissions.previewValue': { emails: [ADA], attribute: 'region' },
  'listViews.update': { name: 'x' },
  'listViews.pin': { is_pinned: true },
  'savedFilters.setState': { state: {} },
  'savedFilters.setSharing': { client: true, groups: [] },
  'savedFilters.setDefault': { filter: null },
  'savedFilters.replace': { stack_id: 'a0a91e46', hash: 'free', name: 'x' },
};

const foreign = appSuite('ids of another client');

/** A superuser who administers both clients, with a token that is confined to the first. */
const CONFINED = 'everywhere@acme.test';

const makeConfined = async (app: TestApp): Promise<void> => {
  await app.as(ACME).users.create({ email: CONFINED });
  for (const id of [1, 2]) await app.as(ROOT).roles.setClientAdmin({ id, email: CONFINED, is_admin: true });
  await app.as(ROOT).roles.update({ email: CONFINED, is_staff: true, is_superuser: true });
  const provider = { name: 'Acme', issuer: 'https://login.acme.test', client_id: 'steward' };
  const { id } = await app.as(ACME).sso.create({ id: 1, ...provider });
  await app.confine(CONFINED, id);
};

/** Resources of every kind in the second client, a user of both clients, and a saved filter of the callers. */
const makeThings = async (app: TestApp): Promise<Ids> => {
  await app.as(ROOT).users.update({ email: GRACE, apps: ['zylTKNVx', 'Hb7cW2ke'] });
  await app.as(ROOT).users.update({ email: GRACE, first_name: 'G.' });
  const user_id = await userId(app, GRACE);
  const at = app.clock.now();
  const mail = { kind: 'password-setup' as const, recipient: GRACE, user_id };
  await addRows(app, 'outbox_mails', { ...mail, created_at: at, next_attempt_at: at });
  const [invitation] = await app.as(GLOBEX).invitations.create({ items: [{ email: GUEST }] });
  await app.as(EDSGER).savedFilters.create({ stack_id: 'd3d64b79', hash: 'of-edsger', name: 'x' });
  await makeConfined(app);
  for (const who of [ACME, ADA, CONFINED]) {
    await app.as(who).savedFilters.create({ stack_id: 'a0a91e46', hash: 'own', name: 'x' });
  }
  const theirs = (await app.as(GLOBEX).mail.list({})).find(({ recipient }) => recipient === GUEST);
  await loggedIn(app, GLOBEX);
  const owned = { user_id: await userId(app, GLOBEX) };
  await enroll(app, GLOBEX);
  const view = await app.as(GLOBEX).accessViews.create({ app: 'fleet' });
  const group = await app.as(GLOBEX).groups.create({ id: 2, name: 'Fleet managers', members: [EDSGER] });
  const provider = { name: 'Globex', issuer: 'https://login.globex.test', client_id: 'steward' };
  const connection = await app.as(GLOBEX).sso.create({ id: 2, ...provider });
  const domain = await app.as(GLOBEX).domains.add({ id: 2, domain: 'globex.test' });
  const service = await app.as(GLOBEX).serviceAccounts.create({ name: 'Exports', client: 2 });
  const serviceToken = await app.as(GLOBEX).serviceAccounts.createToken({ id: service.id, name: 'x' });
  const webhook = await app.as(GLOBEX).webhooks.create({ url: 'https://hooks.globex.test/', client: 2 });
  const shared = { list: 'people', name: 'Fleet', search: {}, client: 2, is_shared: true } as const;
  const listView = await app.as(GLOBEX).listViews.create(shared);
  const identity = { connection_id: connection.id, user_id, subject: 'grace', email: GRACE, created_at: at };
  await addRows(app, 'external_identities', identity);
  const linked = await rowOf(app, 'external_identities');
  await app.as(GLOBEX).users.create({ email: 'asks@globex.test' });
  await app.as(GLOBEX).apps.update({ app_id: FLEET[0], is_requestable: true });
  const request = await app.as('asks@globex.test').requests.create({ app: FLEET[0] });
  const look = { app_id: FLEET[0], client_id: 2, session_id: 0, reason: '', link_digest: '' };
  const people = { actor_id: owned.user_id, user_id: await userId(app, EDSGER) };
  await addRows(app, 'view_as', { ...look, ...people, begun_at: at, ends_at: at });
  const { operation } = await app.as(GLOBEX).users.bulkUpdate({ emails: [EDSGER], action: 'reactivate' });
  return {
    ...KNOWN,
    'access_views key': [view.key, 'f'.repeat(32)],
    'accessviews key': [view.key, 'f'.repeat(32)],
    group_id: [String(group.id), MISSING_ID],
    connection_id: [String(connection.id), MISSING_ID],
    domain_id: [String(domain.id), MISSING_ID],
    identity_id: [String(linked.id), MISSING_ID],
    'webhooks id': [String(webhook.id), MISSING_ID],
    'views id': [String(listView.id), MISSING_ID],
    'accounts id': [String(service.id), MISSING_ID],
    token_id: [String(serviceToken.id), MISSING_ID],
    'as id': [String((await rowOf(app, 'view_as')).id), MISSING_ID],
    'requests id': [String(request.id), MISSING_ID],
    'operations id': [operation, '3b241101-e2bb-4255-8caf-4136c566a962'],
    'invitations id': [String(invitation?.id), MISSING_ID],
    'mails id': [String(theirs?.id), MISSING_ID],
    'tokens id': [String((await rowsOf(app, 'api_tokens', owned))[0]?.id), MISSING_ID],
    'sessions id': [String((await rowOf(app, 'sessions', owned)).id), MISSING_ID],
    'mfa id': [String((await app.as(GLOBEX).mfa.list({})).factors[0]?.id), MISSING_ID],
  };
};

/** The path with a foreign id and with one that does not exist. */
const pathsOf = ({ url, procedure }: Endpoint, ids: Ids): [string, string] => {
  const path = (which: 0 | 1) =>
    restPath(url).replaceAll(/([\w/]+?)\/:(\w+)/g, (_match, folder: string, key: string) => {
      const name = folder.split('/').slice(-2).join('/');
      const pair = ids[`${name} ${key}`] ?? ids[`${name.split('/').at(-1)} ${key}`] ?? ids[key];
      if (!pair) throw new Error(`${procedure}: there are no ids for ${name} ${key}`);
      return `${folder}/${pair[which]}`;
    });
  return [path(0) + (QUERIES[procedure] ?? ''), path(1) + (QUERIES[procedure] ?? '')];
};

type Sent = { as: string; line: string; payload?: unknown; headers?: Record<string, string> };

/** Everything in a response that could distinguish one id from another, without the id itself. */
const responseTo = async (app: TestApp, { line, payload, ...sent }: Sent, ids: readonly string[]) => {
  const body = payload === undefined ? {} : { payload: JSON.stringify(payload) };
  const headers = { ...sent.headers, ...('payload' in body && { 'content-type': 'application/json' }) };
  const response = await app.send(line, { ...sent, ...body, headers });
  const { etag, location, 'x-count': count, allow } = response.headers;
  const text = ids
    .reduce((text, id) => text.replaceAll(id, 'ID').replaceAll(encodeURIComponent(id), 'ID'), response.body)
    .replace(/"instance":"[^"]*"/, '');
  return { status: response.statusCode, text, etag, location, count, allow };
};

foreign('get the same response as ids that do not exist, in every path', async ({ app }) => {
  const ids = await makeThings(app);
  const all = Object.values(ids).flat();
  const endpoints = REST_ENDPOINTS.filter(({ pathKeys, isPublic }) => pathKeys.length > 0 && !isPublic);
  assert.ok(endpoints.length > 40);

  for (const endpoint of endpoints) {
    const { method, procedure, rest } = endpoint;
    const [theirs, missing] = pathsOf(endpoint, ids);
    const payload = BODIES[procedure] ?? (method === 'GET' ? undefined : {});
    for (const as of [ACME, ADA, CONFINED]) {
      const isConditional = as !== ADA && rest.resourceQuery && method !== 'POST';
      const conditions = isConditional ? [{}, { 'if-match': '*' }] : [{}];
      for (const headers of conditions) {
        const found = await responseTo(app, { as, line: `${method} ${theirs}`, payload, headers }, all);
        const none = await responseTo(app, { as, line: `${method} ${missing}`, payload, headers }, all);
        assert.equal(found, none, `${procedure} of ${as}`);
        assert.ok(found.status === 403 || found.status === 404, `${procedure} of ${as}: ${found.text}`);
      }
    }
  }
});

/** Ids in queries and bodies. */
const REFERENCES: [line: string, of: Pair, body?: unknown][] = [
  ['GET /jb/users/?app=ID', SLUG],
  ['GET /jb/users/count/?app=ID', SLUG],
  ['GET /jb/users/table/?app=ID', SLUG],
  ['GET /jb/users/invitations/?app=ID', SLUG],
  ['GET /access_views/?app=ID', SLUG],
  ['GET /jb/apps/?page=1&search=ID', SLUG],
  ['GET /jb/users/?limit=5&cursor=ID', PERSON],
  ['GET /jb/users/?page=1&search=ID', PERSON],
  ['GET /jb/users/?limit=5&sort=name&cursor=ID', PERSON],
  ['GET /jb/audit/?person=ID', PERSON],
  ['GET /jb/mails/?recipient=ID', PERSON],
  ['GET /jb/mails/?search=ID', PERSON],
  ['GET /jb/clients/1/access/?cursor=ID', PERSON],
  ['GET /jb/apps/zylTKNVx/grants/?cursor=ID', PERSON],
  ['GET /jb/access-requests/?email=ID', PERSON],
  ['GET /jb/clients/1/users/?limit=5&cursor=ID', PERSON],
  ['GET /access_views/?user=ID', PERSON],
  ['GET /jb/usage/report/?email=ID', PERSON],
  ['GET /jb/apps/zylTKNVx/usage/entries/?email=ID', PERSON],
  ['GET /jb/users/?client=ID', CLIENT],
  ['GET /jb/users/count/?client=ID', CLIENT],
  ['GET /jb/users/table/?client=ID', CLIENT],
  ['GET /jb/access-requests/?client=ID', CLIENT],
  ['GET /jb/invitations/?page=1&status=all&client=ID', CLIENT],
  ['GET /jb/mails/?page=1&client=ID', CLIENT],
  ['GET /jb/audit/?page=1&client=ID', CLIENT],
  ['GET /jb/webhooks/?client=ID', CLIENT],
  ['GET /jb/service-accounts/?client=ID', CLIENT],
  ['GET /jb/events/?client=ID', CLIENT],
  ['GET /jb/usage/report/?client=ID', CLIENT],
  ['GET /jb/usage/summary/?client=ID', CLIENT],
  ['GET /jb/apps/?client=ID', CLIENT],
  ['GET /jb/mails/timeline/?email=ID', INVITED],
  ['GET /jb/users/invitations/?page=1&status=all&search=ID', INVITED],
  ['GET /jb/invitations/?page=1&status=all&search=ID', INVITED],
  ['GET /jb/clients/1/sso/?cursor=ID', ['1', MISSING_ID]],
  ['GET /jb/clients/1/domains/?cursor=ID', ['1', MISSING_ID]],
  ['GET /jb/access-requests/?app=ID', FLEET],
  ['GET /jb/clients/1/apps/?limit=5&cursor=ID', FLEET],
  ['GET /jb/apps/?limit=5&cursor=ID', FLEET],
  ['GET /jb/usage/report/?app_id=ID', FLEET],
  ['GET /jb/usage/summary/?app_id=ID', FLEET],
  ['GET /jb/audit/?page=1&target=ID', ['of@globex.test', 'unknown@globex.test']],
  ['GET /jb/audit/?page=1&actor=ID', ['of@globex.test', 'unknown@globex.test']],
  ['GET /jb/usage/report/?app_id=zylTKNVx&stack=ID', STACK],
  ['GET /hashr/saved_global_filters/?limit=5&cursor=ID', ['of-edsger', 'of-missing']],
  ['GET /hashr/saved_global_filters/shared/?stack_id=ID', STACK],
  ['PUT /hashr/saved_global_filters/own/sharing/', ['1', MISSING_ID], { client: false, groups: ['ID'] }],
  ['PUT /hashr/saved_global_filters/defaults/a0a91e46/', ['1', MISSING_ID], { filter: 'ID' }],
  ['PATCH /jb/clients/1/access/', PERSON, { cells: [{ email: 'ID', app_id: 'zylTKNVx', granted: true }] }],
  ['PATCH /jb/clients/1/access/', FLEET, { cells: [{ email: ADA, app_id: 'ID', granted: true }] }],
  ['POST /jb/users/bulk/', FLEET, { emails: [ADA], action: 'grant-apps', apps: ['ID'] }],
  ['POST /jb/users/bulk/', CLIENT, { filter: { client: 'ID' }, action: 'reactivate' }],
  ['POST /jb/apps/zylTKNVx/grants/', PERSON, { email: 'ID' }],
  ['POST /session/methods/', PERSON, { email: 'ID' }],
  ['POST /jb/access-requests/', FLEET, { app: 'ID' }],
  ['POST /jb/webhooks/', CLIENT, { url: 'https://hooks.test/', client: 'ID' }],
  ['POST /jb/service-accounts/', CLIENT, { name: 'x', client: 'ID' }],
  ['POST /access_views/', SLUG, { app: 'ID' }],
  ['POST /access_views/', PERSON, { app: 'sales', user: 'ID' }],
  ['POST /jb/users/', CLIENT, { email: EDSGER, client: 'ID' }],
  ['POST /jb/users/', FLEET, { email: 'new@x.test', apps: ['ID'] }],
  [`PATCH /jb/users/${ADA}/`, FLEET, { apps: ['ID'] }],
  ['POST /jb/users/invitations/', CLIENT, { email: EDSGER, client: 'ID' }],
  ['POST /jb/users/invitations/', FLEET, { email: 'new@x.test', initial_apps: ['ID'] }],
  ['POST /jb/clients/1/users/invitations/', FLEET, { email: 'new@x.test', initial_apps: ['ID'] }],
  [`PATCH /jb/users/invitations/${GUEST}/?client=ID`, CLIENT, { initial_apps: [] }],
  ['PUT /hashr/saved_global_filters/own/', STACK, { stack_id: 'ID', hash: 'own', name: 'x' }],
];

foreign('get the same response as ids that do not exist, in queries and bodies', async ({ app }) => {
  await app.as(GLOBEX).users.create({ email: 'of@globex.test' });
  for (const [line, of, body] of REFERENCES) {
    for (const as of [ACME, ADA, CONFINED]) {
      const responses = of.map((id) => {
        const value = /^\d+$/.test(id) && id.length < 8 ? Number(id) : id;
        const payload = body && JSON.parse(JSON.stringify(body).replaceAll('"ID"', JSON.stringify(value)));
        return responseTo(app, { as, line: line.replace('ID', encodeURIComponent(id)), payload }, of);
      });
      const [found, none] = await Promise.all(responses);
      assert.equal(found, none, `${line} of ${as}`);
    }
  }
});

foreign('are not locked by a conditional change', async ({ app }) => {
  const view = await app.as(ROOT).accessViews.create({ app: 'fleet' });
  for (const [table, id, line] of [
    ['clients', '2', 'PATCH /jb/clients/2/'],
    ['apps', `'${FLEET[0]}'`, `PATCH /jb/apps/${FLEET[0]}/`],
    ['access_views', `${view.id}`, `PATCH /access_views/${view.key}/`],
  ]) {
    const writer = app.orm.em.fork();
    await writer.begin();
    await writer.execute(`select from ${table} where id = ${id} for update`);
    let isAnswered = false;
    let isBlocked = false;
    const headers = { 'if-match': '*' };
    const request = app.send(String(line), { as: ACME, payload: {}, headers }).finally(() => {
      isAnswered = true;
    });
    await until('an answer, or a statement that waits', async () => {
      isBlocked = await isWaiting(app);
      return isAnswered || isBlocked;
    });
    await writer.rollback();

    assert.is((await request).statusCode, 404);
    assert.is(isBlocked, false, line);
  }
});

foreign.run();
