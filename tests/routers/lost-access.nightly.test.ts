import { type RawBuilder, sql } from 'kysely';
import * as assert from 'uvu/assert';
import { createCaller } from '../../routers/index.ts';
import { publishDemoPackages } from '../../src/demo/packages.ts';
import { REST_ENDPOINTS } from '../../src/http/rest/endpoints.ts';
import { Problem } from '../../src/lib/problems.ts';
import { userId } from '../support/access-views.ts';
import { startProviderMetadata } from '../support/identity-provider.ts';
import { createAuthenticator } from '../support/passkeys.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowOf, rowsOf, setRows, valuesOf } from '../support/rows.ts';
import { codeAt, enroll } from '../support/second-factors.ts';
import {
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GRACE,
  IDLE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { inDays, until } from '../support/time.ts';
import { CHURN, SALES } from '../support/usage.ts';

const VIEW = { app: 'sales' };
const STACK = { stack_id: 'a0a91e46', name: 'x' };
const ITEM = { client: 1, initial_apps: [SALES] };

type Inputs = Record<string, (app: TestApp, n: number) => unknown>;

const idOf = async (items: Promise<{ id: number }[]>): Promise<{ id: number }> => {
  const [item] = await items;
  if (!item) throw new Error('nothing was created');
  return { id: item.id };
};
const invite = (app: TestApp, n: number) =>
  idOf(app.as(ROOT).invitations.create({ items: [{ ...ITEM, email: `guest${n}@lost.test` }] }));

/** A new member of the first client, who has an app. */
const member = async (app: TestApp, n: number): Promise<string> =>
  (await app.as(ROOT).users.create({ email: `member${n}@lost.test`, apps: [SALES] })).email;
const group = async (app: TestApp, n: number): Promise<number> =>
  (await app.as(ROOT).groups.create({ id: 1, name: `Group ${n}` })).id;

/** The end of a membership that waits for an approval. */
const heldEnding = async (app: TestApp, n: number) => {
  await sql`delete from directory_holds`.execute(app.db());
  const user_id = await userId(app, await member(app, n));
  const now = app.clock.now();
  const times = { held_at: now, tried_at: now };
  await addRows(app, 'directory_holds', { client_id: 1, user_id, is_last_admin: false, ...times });
  return { id: 1, held: 1, held_until: now };
};

const listView = async (app: TestApp, n: number) => {
  const { id } = await app.as(ROOT).listViews.create({ list: 'people', name: `View ${n}`, search: {} });
  return { id };
};

/** A filter of the caller, with further input. */
const ofFilter = async (app: TestApp, hash: string, more: object) => {
  await app.as(ROOT).savedFilters.create({ ...STACK, hash });
  return { hash, ...more };
};

const PROVIDER = await startProviderMetadata();
const REGISTRATION = { issuer: PROVIDER, client_id: 'steward' };
const connection = async (app: TestApp, n: number) => {
  await endConnections(app);
  const { id } = await app.as(ROOT).sso.create({ id: 1, name: `Provider ${n}`, ...REGISTRATION });
  return { id: 1, connection_id: id };
};
const installationConnection = async (app: TestApp, n: number) => {
  await endConnections(app);
  const { id } = await app.as(ROOT).installationSso.create({ name: `Provider ${n}`, ...REGISTRATION });
  return { connection_id: id };
};
const endConnections = (app: TestApp) => sql`delete from sso_connections`.execute(app.db());
/** A domain that its record proves. */
const domain = async (app: TestApp, n: number) => {
  await sql`delete from client_domains`.execute(app.db());
  const added = await app.as(ROOT).domains.add({ id: 1, domain: `domain${n}.lost.test` });
  const { id, record_name, record_value } = added;
  app.txtRecords.set(record_name, [record_value]);
  return { id: 1, domain_id: id };
};

/** Of the installation, whose test needs no receiver. */
const webhook = async (app: TestApp) => {
  await sql`delete from webhooks`.execute(app.db());
  const { id } = await app.as(ROOT).webhooks.create({ url: 'http://127.0.0.1:9/' });
  return { id };
};

const service = async (app: TestApp, n: number) => {
  const { id } = await app
    .as(ROOT)
    .serviceAccounts.create({ name: `service of ${n} ${++services}`, client: 1 });
  return { id };
};

const serviceToken = async (app: TestApp, n: number) => {
  const { id } = await service(app, n);
  return { id, token_id: (await app.as(ROOT).serviceAccounts.createToken({ id, name: 'Host' })).id };
};

let services = 0;

const closedApp = async (app: TestApp, n: number): Promise<string> => {
  const id = `lost${String(n).padStart(4, '0')}`;
  const columns = { client_id: 1, slug: id, label: `App ${n}`, created_at: app.clock.now() };
  await addRows(app, 'apps', { id, in_maintenance: true, ...columns });
  return id;
};

const closedClient = async (app: TestApp, n: number): Promise<number> => {
  const root = app.as(ROOT);
  const site = await root.sites.create({ domain: `closed${n}.lost.test`, name: 'x' });
  const { id } = await root.clients.create({ name: `Client ${n}`, site: site.id });
  await root.clients.updateGate({ id, is_open: false });
  return id;
};

/** The pending request of a new member for an app. */
const accessRequest = async (app: TestApp, n: number) => {
  await app.as(ROOT).apps.update({ app_id: CHURN, is_requestable: true });
  const { id, version } = await app.as(await member(app, n)).requests.create({ app: CHURN });
  return { id, version };
};

/** Superusers have all apps. */
const FOR_MEMBERS = ['requests.create'];

/** An input with which a superuser may call each mutation that requires credentials. `n` differs in each call. */
const INPUTS: Inputs = {
  'access.update': async (app) => {
    await app.as(ROOT).users.update({ email: GRACE, apps: [SALES] });
    return { id: 1, cells: [{ email: GRACE, app_id: CHURN, granted: true }] };
  },
  'accessViews.create': () => VIEW,
  'accessViews.update': async (app, n) => ({
    key: (await app.as(ROOT).accessViews.create(VIEW)).key,
    allowed_uses_cnt: n,
  }),
  'accessViews.deactivate': async (app) => ({ key: (await app.as(ROOT).accessViews.create(VIEW)).key }),
  'accessViews.rotateKey': async (app) => ({ key: (await app.as(ROOT).accessViews.create(VIEW)).key }),
  'accessViews.embed': () => ({ app: 'sales', email: ADA }),
  'appPackages.fetch': () => ({ app_slug: 'sales', app_version: '1.0.0' }),
  'appPackages.load': async (app) => {
    await app.as(ROOT).appPackages.fetch({ app_slug: 'sales' });
    return { app_slug: 'sales' };
  },
  'apps.clearCache': () => ({ app_id: SALES }),
  'apps.create': (_app, n) => ({
    ...{ client: 1, slug: `linked${n}`, label: `Linked ${n}` },
    launch_url: 'https://linked.test/',
  }),
  'apps.launch': async (app) => {
    await setRows(app, 'apps', {}, { launch_url: 'https://sales.test/' });
    return { app_slug: 'sales' };
  },
  'apps.openTicket': () => ({ app_id: SALES }),
  'apps.previewMaintenance': () => ({ app_id: SALES, maintenance_message: 'x' }),
  'apps.rollback': async (app) => {
    for (const app_version of ['1.0.0', '1.1.0']) {
      await app.as(ROOT).appPackages.fetch({ app_slug: 'sales', app_version });
      await app.as(ROOT).appPackages.load({ app_slug: 'sales' });
    }
    return { app_slug: 'sales', app_version: '1.0.0' };
  },
  'apps.remove': async (app, n) => ({ app_id: await closedApp(app, n), confirm_name: `App ${n}` }),
  'apps.update': (_app, n) => ({ app_id: SALES, label: `label ${n}` }),
  'clients.create': async (app, n) => ({
    name: `Client ${n}`,
    site: (await app.as(ROOT).sites.create({ domain: `c${n}.lost.test`, name: 'x' })).id,
  }),
  'clients.remove': async (app, n) => ({ id: await closedClient(app, n), confirm_name: `Client ${n}` }),
  'clients.invite': (_app, n) => ({ id: 1, email: `invited${n}@lost.test` }),
  'clients.previewInvitation': () => ({ id: 1, invitation_subject: 'x', invitation_body: 'x' }),
  'clients.update': (_app, n) => ({ id: 1, login_title: `title ${n}` }),
  'clients.updateFactorPolicy': (_app, n) => ({ id: 1, factor_grace_days: n % 300 }),
  'reminders.update': (_app, n) => ({ id: 1, access_days: n % 90 }),
  'clients.updateGate': (_app, n) => ({ id: 1, embed_origins: [`https://a${n}.test`] }),
  'dataPermissions.setSchema': (_app, n) => ({
    id: 1,
    schema: { properties: { [`key${n}`]: {} } },
    mode: 'warn',
  }),
  'dataPermissions.previewValue': async (app, n) => ({
    id: 1,
    emails: [await member(app, n)],
    attribute: 'region',
  }),
  'directory.approve': heldEnding,
  'directory.update': (_app, n) => ({ id: 1, attributes: { [`key${n}`]: 'title' } }),
  'grants.create': async (app, n) => ({ app_id: CHURN, email: await member(app, n) }),
  'grants.update': async (app, n) => ({ app_id: SALES, email: await member(app, n), reason: `reason ${n}` }),
  'grants.extend': async (app, n) => ({
    grants: [{ app_id: SALES, email: await member(app, n) }],
    expires_at: inDays(app, n),
  }),
  'grants.remove': async (app, n) => ({ app_id: SALES, email: await member(app, n) }),
  'groups.create': (_app, n) => ({ id: 1, name: `Team ${n}` }),
  'groups.update': async (app, n) => ({ id: 1, group_id: await group(app, n), name: `Renamed ${n}` }),
  'groups.remove': async (app, n) => ({ id: 1, group_id: await group(app, n) }),
  'invitations.bulkUpdate': async (app, n) => ({ ids: [(await invite(app, n)).id], action: 'revoke' }),
  'invitations.copyLink': invite,
  'invitations.copyLinks': async (app, n) => ({ ids: [(await invite(app, n)).id] }),
  'invitations.create': (_app, n) => ({ items: [{ ...ITEM, email: `one${n}@lost.test` }] }),
  'invitations.resend': invite,
  'invitations.revoke': invite,
  'invitations.update': async (app, n) => {
    await invite(app, n);
    return { email: `guest${n}@lost.test`, client: 1, extra: { n } };
  },
  'listViews.create': (_app, n) => ({ list: 'people', name: `View ${n}`, search: {} }),
  'listViews.pin': async (app, n) => ({ ...(await listView(app, n)), is_pinned: true }),
  'listViews.remove': listView,
  'listViews.update': async (app, n) => ({ ...(await listView(app, n)), name: `Renamed ${n}` }),
  'mail.retry': async (app, n) => {
    await invite(app, n);
    const id = Number((await valuesOf(app, 'outbox_mails', 'id')).at(-1));
    await setRows(app, 'outbox_mails', {}, { failed_at: app.clock.now() });
    return { id };
  },
  'memberships.update': async (app, n) => ({ id: 1, email: await member(app, n), extra: { n } }),
  'memberships.remove': async (app, n) => ({ id: 1, email: await member(app, n) }),
  'profile.update': (_app, n) => ({ first_name: `Root ${n}` }),
  'profile.requestEmail': async (app, n) => {
    // Five requests are allowed in an hour.
    await sql`delete from rate_limits`.execute(app.db());
    return { email: `root${n}@lost.test` };
  },
  'profile.cancelEmail': async (app, n) => {
    await sql`delete from rate_limits`.execute(app.db());
    await app.as(ROOT).profile.requestEmail({ email: `cancelled${n}@lost.test` });
    return {};
  },
  'operations.undo': async (app) => {
    await app.as(ROOT).users.update({ email: GRACE, apps: [SALES] });
    const change = { emails: [GRACE], action: 'grant-apps' as const, apps: [CHURN] };
    return { id: (await app.as(ROOT).users.bulkUpdate(change)).operation };
  },
  'openid.addSecret': async (app) => {
    await app.as(ROOT).openid.update(OPENID_SETTINGS);
    return { app_id: SALES };
  },
  'openid.remove': async (app) => {
    await app.as(ROOT).openid.update(OPENID_SETTINGS);
    return { app_id: SALES };
  },
  'openid.update': (_app, n) => ({ ...OPENID_SETTINGS, redirect_uris: [`https://sales${n}.acme.test/`] }),
  'requests.approve': async (app, n) => ({ ...(await accessRequest(app, n)), reason: 'x' }),
  'requests.deny': accessRequest,
  'requests.withdraw': async (app) => {
    // Superusers cannot ask, but may have asked before, as members.
    const user_id = await userId(app, ROOT);
    const [own] = await rowsOf(app, 'access_requests', { user_id, status: 'pending' });
    if (own) return { id: own.id };
    if (!(await rowsOf(app, 'memberships', { user_id })).length)
      await addRows(app, 'memberships', { client_id: 1, user_id });
    await addRows(app, 'access_requests', { user_id, app_id: CHURN, created_at: app.clock.now() });
    return { id: (await rowOf(app, 'access_requests', { user_id, status: 'pending' })).id };
  },
  'roles.setClientAdmin': async (app) => {
    await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: false });
    return { id: 1, email: GRACE, is_admin: true };
  },
  'roles.setInClient': async (_app, n) => ({
    id: 1,
    email: GRACE,
    roles: n % 2 ? ['auditor'] : ['help-desk'],
  }),
  'roles.update': async (app) => {
    await app.as(ROOT).roles.update({ email: STAFF, is_staff: false });
    return { email: STAFF, is_staff: true };
  },
  'savedFilters.create': (_app, n) => ({ ...STACK, hash: `h${n}` }),
  'savedFilters.remove': (app, n) => ofFilter(app, `r${n}`, {}),
  'savedFilters.replace': (app, n) => ofFilter(app, `p${n}`, { filter: { ...STACK, hash: `q${n}` } }),
  'savedFilters.setState': (app, n) => ofFilter(app, `s${n}`, { state: { n } }),
  'savedFilters.setSharing': (app, n) => ofFilter(app, `t${n}`, { client: true, groups: [] }),
  'savedFilters.setDefault': () => ({ stack_id: STACK.stack_id, filter: null }),
  'sessions.confirm': () => ({ password: DEMO_PASSWORD }),
  'sessions.end': () => ({}),
  'sessions.revoke': async (app) => ({ id: await newSession(app, ROOT) }),
  'sessions.revokeAll': async (app) => {
    await newSession(app, ADA);
    return { email: ADA };
  },
  'sessions.revokeForUser': async (app) => ({ email: ADA, id: await newSession(app, ADA) }),
  'signingKeys.rotate': () => ({}),
  'sites.create': (_app, n) => ({ domain: `s${n}.lost.test`, name: 'x' }),
  'tickets.introspect': () => ({ token: 'x' }),
  'tickets.revoke': () => ({ user: ADA }),
  'tokens.createNamed': (_app, n) => ({ name: `token ${n}` }),
  'tokens.narrow': async (app, n) => ({
    id: (await app.as(ROOT).tokens.createNamed({ name: `narrow ${n}` })).id,
    scopes: ['users:read'],
  }),
  'tokens.revoke': async (app, n) => {
    await app.as(ROOT).tokens.createNamed({ name: `own ${n}` });
    return newestToken(app);
  },
  'tokens.revokeForUser': async (app, n) => {
    await app.as(ADA).tokens.createNamed({ name: `of ada ${n}` });
    return { email: ADA, ...(await newestToken(app)) };
  },
  'usage.record': () => ({ app_id: SALES, entries: [{ email: ADA, action: 'OPEN' }] }),
  'users.bulkUpdate': async (app) => {
    await app.as(ROOT).users.update({ email: EDSGER, is_active: true });
    return { emails: [EDSGER], action: 'deactivate' };
  },
  'users.create': (_app, n) => ({ email: `new${n}@lost.test`, client: 1 }),
  'users.cancelEmailChange': async (app, n) => {
    const email = await member(app, n);
    await app.as(email).profile.requestEmail({ email: `waiting${n}@lost.test` });
    return { email };
  },
  'users.changeEmail': async (app, n) => ({ email: await member(app, n), new_email: `moved${n}@lost.test` }),
  'users.deactivate': async (app) => {
    await app.as(ROOT).users.update({ email: IDLE, is_active: true });
    return { email: IDLE };
  },
  'users.erase': async (app, n) => {
    const email = `erased${n}@lost.test`;
    await app.as(ROOT).users.create({ email, client: 1 });
    const { confirmation } = await app.as(ROOT).users.previewErasure({ email });
    return { email, confirmation, confirm_email: email };
  },
  'users.update': (_app, n) => ({ email: ADA, first_name: `Ada ${n}` }),
  'users.endViewAs': async (app, n) => {
    const [actor_id, user_id] = [await userId(app, ADA), await userId(app, ROOT)];
    const look = { actor_id, user_id, app_id: SALES, client_id: 1, session_id: 0, reason: 'x' };
    const times = { begun_at: app.clock.now(), ends_at: inDays(app, 1) };
    await addRows(app, 'view_as', { ...look, ...times, link_digest: `look ${n}` });
    return { id: Math.max(...(await valuesOf(app, 'view_as', 'id'))) };
  },
  'users.resetFactors': async (app, n) => {
    const email = await member(app, n);
    await enroll(app, email);
    return { email };
  },
  'sso.create': async (app, n) => {
    await endConnections(app);
    return { id: 1, ...REGISTRATION, name: `Connection ${n}` };
  },
  'sso.update': async (app, n) => ({ ...(await connection(app, n)), name: `Renamed ${n}` }),
  'sso.test': connection,
  'sso.remove': connection,
  'domains.add': async (app, n) => {
    await domain(app, n);
    return { id: 1, domain: `added${n}.lost.test` };
  },
  'domains.verify': domain,
  'domains.vouch': domain,
  'domains.remove': domain,
  'installationSso.create': async (app, n) => {
    await endConnections(app);
    return { ...REGISTRATION, name: `Connection ${n}` };
  },
  'installationSso.update': async (app, n) => ({
    ...(await installationConnection(app, n)),
    name: `Renamed ${n}`,
  }),
  'installationSso.test': installationConnection,
  'installationSso.remove': installationConnection,
  'installationSso.addDomain': (_app, n) => ({ domain: `ops${n}.lost.test` }),
  'installationSso.removeDomain': async (app, n) => ({
    domain_id: (await app.as(ROOT).installationSso.addDomain({ domain: `gone${n}.lost.test` })).id,
  }),
  'webhooks.create': async (app) => {
    // Otherwise the call publishes what others have changed before.
    await app.as(ROOT).events.list({});
    return { url: 'http://127.0.0.1:9/' };
  },
  'webhooks.update': async (app, n) => ({ ...(await webhook(app)), description: `Changed ${n}` }),
  'webhooks.remove': webhook,
  'webhooks.rotateSecret': webhook,
  'webhooks.test': webhook,
  'webhooks.replay': async (app) => ({ ...(await webhook(app)), from: new Date(0) }),
  'serviceAccounts.create': (_app, n) => ({ name: `service ${n}`, client: 1 }),
  'serviceAccounts.update': async (app, n) => ({ ...(await service(app, n)), description: `Changed ${n}` }),
  'serviceAccounts.remove': service,
  'serviceAccounts.createToken': async (app, n) => ({ ...(await service(app, n)), name: 'Host' }),
  'serviceAccounts.narrowToken': async (app, n) => ({
    ...(await serviceToken(app, n)),
    scopes: ['users:read'],
  }),
  'serviceAccounts.revokeToken': serviceToken,
  'users.unlinkIdentity': async (app, n) => {
    const email = await member(app, n);
    const { connection_id } = await connection(app, n);
    const user_id = await userId(app, email);
    const columns = { subject: `person ${n}`, email, created_at: app.clock.now() };
    await addRows(app, 'external_identities', { connection_id, user_id, ...columns });
    return { email, identity_id: (await rowOf(app, 'external_identities', { user_id })).id };
  },
  'mfa.startTotp': async (app, n) => {
    await endFactors(app);
    return { name: `app ${n}` };
  },
  'mfa.confirmTotp': async (app) => {
    await endFactors(app);
    const { secret } = await app.as(ROOT).mfa.startTotp({});
    return { code: codeAt(secret, app.clock.now()) };
  },
  'mfa.startPasskey': async (app) => {
    await endFactors(app);
    return {};
  },
  'mfa.addPasskey': async (app) => {
    await endFactors(app);
    const options = await app.as(ROOT).mfa.startPasskey({});
    return { credential: createAuthenticator().create(options) };
  },
  'mfa.rename': async (app, n) => {
    await endFactors(app);
    await enroll(app, ROOT);
    return { id: (await app.as(ROOT).mfa.list({})).factors[0]?.id, name: `renamed ${n}` };
  },
  'mfa.renewRecoveryCodes': async (app) => {
    await endFactors(app);
    await enroll(app, ROOT);
    return {};
  },
  'mfa.remove': async (app) => {
    await endFactors(app);
    await enroll(app, ROOT);
    return { id: (await app.as(ROOT).mfa.list({})).factors[0]?.id };
  },
  // Last, because others log in with the password.
  'passwords.change': () => ({ password: DEMO_PASSWORD, new_password: 'another-good-one-9' }),
};

/** These sign or render something, and write nothing. */
const OPENID_SETTINGS = { app_id: SALES, redirect_uris: ['https://sales.acme.test/callback'] };

const CHANGES_NOTHING = [
  'apps.openTicket',
  'sso.test',
  'installationSso.test',
  'apps.previewMaintenance',
  'clients.previewInvitation',
  'dataPermissions.previewValue',
  'tickets.introspect',
];

/** They revoke credentials, the caller's own too. */
const OUTLIVES_CREDENTIAL = [
  'sessions.end',
  'sessions.revoke',
  'sessions.revokeForUser',
  'tokens.revoke',
  'tokens.revokeForUser',
  'tokens.narrow',
];

/** It refuses the tokens of these tests, and is confirmed before its commit as the others are. */
const FOR_SESSIONS = ['users.viewAs'];

const endFactors = (app: TestApp) => sql`delete from mfa_factors`.execute(app.db());

const newSession = async (app: TestApp, email: string): Promise<number> => {
  await app.send('POST /session/', { payload: { username: email, password: DEMO_PASSWORD } });
  return Math.max(...(await valuesOf(app, 'sessions', 'id')));
};
const newestToken = async (app: TestApp) => ({ id: Math.max(...(await valuesOf(app, 'api_tokens', 'id'))) });

/** What may differ after a refusal: it is recorded, and its caller is counted. */
const IGNORED = ['rate_limits', 'token_uses', 'mikro_orm_migrations'];

/** A digest of each table, without entries of the audit trail about refusals. */
const digests = async (app: TestApp): Promise<Map<string, string>> => {
  // An erasure goes on in the background.
  const running = () => rowsOf(app, 'erasures', { finished_at: null });
  await until('all erasures are finished', async () => (await running()).length === 0);
  const { rows: tables } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname <> all(${IGNORED})`.execute(app.db());
  const ofRefusals = sql`select id from audit_entries where action in ('request.refused', 'login.fail')`;
  const conditions: Record<string, RawBuilder<unknown>> = {
    audit_entries: sql`where id not in (${ofRefusals})`,
    unpublished_events: sql`where entry_id not in (${ofRefusals})`,
  };
  const found = new Map<string, string>();
  for (const { name } of tables) {
    const condition = conditions[name] ?? sql``;
    const { rows } = await sql<{ digest: string }>`
      select coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as digest
      from ${sql.table(name)} t ${condition}`.execute(app.db());
    found.set(name, rows[0]?.digest ?? '');
  }
  return found;
};

const changedTables = async (app: TestApp, before: ReadonlyMap<string, string>): Promise<string[]> =>
  [...(await digests(app))].flatMap(([name, digest]) => (before.get(name) === digest ? [] : name));

const setAccess = (app: TestApp, access: { is_active?: boolean; is_superuser?: boolean }) =>
  setRows(app, 'users', { email: ROOT }, access);

/** Deletes the token of root. */
const revokeToken = (app: TestApp) =>
  sql`delete from api_tokens where user_id = (select id from users where email = ${ROOT})`.execute(app.db());

type Caller = Record<string, Record<string, (input: unknown) => Promise<unknown>>>;

/** Calls a mutation, as root by default. @param authenticated runs when the caller is known, before anything else */
const call = async (
  app: TestApp,
  procedure: string,
  input: unknown,
  authenticated = async (): Promise<unknown> => undefined,
  who = ROOT,
) => {
  const context = app.contextOf(who);
  const caller = createCaller({
    ...context,
    findActor: async () => {
      const actor = await context.findActor();
      await authenticated();
      return actor;
    },
  }) as unknown as Caller; // called by its path
  const [router = '', name = ''] = procedure.split('.');
  return caller[router]?.[name]?.(input);
};

const lost = appSuite('a caller who loses access while a mutation runs');

lost.before(async ({ app }) => {
  await publishDemoPackages(app.store);
  await Promise.all([app.tokenOf(ROOT), app.tokenOf(ADA)]);
  // Creates the first signing key.
  await app.as(ROOT).apps.openTicket({ app_id: SALES });
});

lost('is tested for every mutation that requires credentials', () => {
  const mutations = REST_ENDPOINTS.filter(
    ({ type, isPublic, isAlias }) => type === 'mutation' && !isPublic && !isAlias,
  );

  assert.equal(
    [...Object.keys(INPUTS), ...FOR_MEMBERS, ...FOR_SESSIONS].sort(),
    mutations.map(({ procedure }) => procedure).sort(),
  );
});

const LOSSES: [name: string, lose: (app: TestApp) => Promise<unknown>][] = [
  ['when deactivated', (app) => setAccess(app, { is_active: false })],
  ['when demoted', (app) => setAccess(app, { is_superuser: false })],
  ['when the token is revoked', revokeToken],
];

let n = 0;
for (const [procedure, makeInput] of Object.entries(INPUTS)) {
  for (const [name, lose] of LOSSES) {
    if (lose === revokeToken && OUTLIVES_CREDENTIAL.includes(procedure)) continue;
    lost(`changes nothing with ${procedure} ${name}`, async ({ app }) => {
      n += 1;
      const input = await makeInput(app, n);
      const before = await digests(app);
      const [outcome] = await Promise.allSettled([call(app, procedure, input, () => lose(app))]);
      await setAccess(app, { is_active: true, is_superuser: true });
      if (lose === revokeToken) await app.renewToken(ROOT);

      const changed = await changedTables(app, before);
      const kept = lose === revokeToken ? ['api_tokens'] : [];
      assert.equal(
        changed.filter((table) => !kept.includes(table)),
        [],
      );
      if (CHANGES_NOTHING.includes(procedure)) return;
      const cause = outcome.status === 'rejected' && outcome.reason.cause;
      assert.ok(cause instanceof Problem && cause.status < 500, String(cause));
      if (lose === revokeToken) assert.is(cause.status, 401);
    });
  }

  lost(`can call ${procedure} with this input otherwise`, async ({ app }) => {
    n += 1;
    const input = await makeInput(app, n);
    const before = await digests(app);
    await call(app, procedure, input);

    const hasChanged = (await changedTables(app, before)).length > 0;
    assert.is(hasChanged, !CHANGES_NOTHING.includes(procedure));
    // It may have revoked their tokens.
    for (const email of [ROOT, ADA]) await app.renewToken(email);
  });
}

lost('changes nothing with requests.create when deactivated or suspended', async ({ app }) => {
  await app.as(ROOT).apps.update({ app_id: CHURN, is_requestable: true });
  const losses = [
    (email: string) => app.as(ROOT).users.update({ email, is_active: false }),
    (email: string) => app.as(ROOT).memberships.update({ id: 1, email, is_active: false }),
  ];
  for (const lose of losses) {
    n += 1;
    const email = await member(app, n);
    await rejectsWith(
      call(app, 'requests.create', { app: CHURN }, () => lose(email), email),
      lose === losses[0] ? 'unauthenticated' : 'invalid-input',
    );
    assert.equal(await app.as(ROOT).requests.list({ email }), []);
  }
});

lost('is refused if the loss commits while the mutation waits to commit', async ({ app }) => {
  const admin = app.orm.em.fork();
  await admin.begin();
  const id = await userId(app, ROOT);
  await admin.execute(`select pg_advisory_xact_lock(7305, ${id})`);
  await admin.execute(`update users set is_active = false where id = ${id}`);
  const late = rejectsWith(app.as(ROOT).users.update({ email: ADA, first_name: 'Late' }), 'unauthenticated');
  await until('the mutation waits', async () => {
    const { rows } = await sql`
      select from pg_locks where locktype = 'advisory' and not granted and database =
        (select oid from pg_database where datname = current_database())`.execute(app.db());
    return rows.length === 1;
  });
  await admin.commit();

  await late;
  await setAccess(app, { is_active: true });
  assert.is.not((await app.as(ROOT).users.get({ email: ADA })).first_name, 'Late');
});

lost.run();
