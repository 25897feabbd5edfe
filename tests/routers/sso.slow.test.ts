import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { createAudit, NO_ORIGIN } from '../../src/services/audit/audit.ts';
import { recheckDomains } from '../../src/services/clients/domains.ts';
import { startProviderMetadata } from '../support/identity-provider.ts';
import { rejectsWith } from '../support/rejects.ts';
import { setRows } from '../support/rows.ts';
import { actionsOf, activate } from '../support/sso.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';

const connections = appSuite('connections');
const REGISTRATION = { name: 'Acme ID', issuer: 'https://login.acme.test', client_id: 'steward' };

connections.before.each(async ({ app }) => {
  await sql`delete from sso_connections`.execute(app.db());
});

const create = (app: TestApp, as = ACME) =>
  app.as(as).sso.create({ id: 1, ...REGISTRATION, client_secret: 's3cr3t' });

connections('are created inactive, with defaults, and never show their secret', async ({ app }) => {
  const { id, created_at, ...created } = await create(app);
  assert.equal(created, {
    client: 1,
    ...REGISTRATION,
    has_secret: true,
    scopes: 'openid email profile',
    email_claim: 'email',
    first_name_claim: 'given_name',
    last_name_claim: 'family_name',
    groups_claim: '',
    attribute_claims: {},
    required_claim: '',
    required_value: '',
    is_active: false,
    is_required: false,
    provisions: false,
    default_groups: [],
    group_mapping: [],
    people: 0,
    tested_at: null,
    redirect_uri: `http://localhost:8000/sso/${id}/callback/`,
    backchannel_logout_uri: `http://localhost:8000/sso/${id}/backchannel-logout/`,
    frontchannel_logout_uri: `http://localhost:8000/sso/${id}/frontchannel-logout/`,
    post_logout_redirect_uri: 'http://localhost:8000/login/',
    initiate_login_uri: `http://localhost:8000/sso/${id}/start/`,
  });
  assert.equal(created_at, app.clock.now());
  const { rows } = await sql<{ text: string }>`select concat(c::text, encode(sealed_secret, 'escape'),
    (select string_agg(e::text, ' ') from audit_entries e)) as text from sso_connections c`.execute(app.db());
  assert.not.match(rows[0]?.text ?? '', 's3cr3t');
});

connections(
  'can be created before the provider has registered them, and are tested afterwards',
  async ({ app }) => {
    const { id } = await app.as(ACME).sso.create({ id: 1, name: 'Okta' });
    const test = () => app.as(ACME).sso.test({ id: 1, connection_id: id });
    assert.ok((await rejectsWith(test(), 'invalid-input')).fields?.issuer);
    await app.as(ACME).sso.update({ id: 1, connection_id: id, issuer: await startProviderMetadata() });
    assert.ok((await rejectsWith(test(), 'invalid-input')).fields?.client_id);
    await app.as(ACME).sso.update({ id: 1, connection_id: id, client_id: 'steward' });
    assert.match((await test()).url, `/sso/${id}/start/?test=1`);
  },
);

connections('are not found under another client', async ({ app }) => {
  const { id } = await create(app);
  await rejectsWith(app.as(GLOBEX).sso.update({ id: 2, connection_id: id, name: 'Stolen' }), 'not-found');
  await rejectsWith(app.as(GLOBEX).sso.remove({ id: 2, connection_id: id }), 'not-found');
  await rejectsWith(app.as(GLOBEX).sso.test({ id: 2, connection_id: id }), 'not-found');
});

connections('are active after a test only, one of each client', async ({ app }) => {
  const [first, second] = [await create(app), await create(app)];
  const active = (id: number) => app.as(ACME).sso.update({ id: 1, connection_id: id, is_active: true });
  const untested = await rejectsWith(active(first.id), 'invalid-input');
  assert.equal(untested.fields, { is_active: ['Test the connection first.'] });
  await activate(app, first.id);
  const { fields } = await rejectsWith(activate(app, second.id), 'invalid-input');
  assert.equal(fields, { is_active: ['Only one connection can be active, and Acme ID is.'] });

  const moved = { id: 1, connection_id: first.id, issuer: 'https://other.acme.test' };
  const changed = await app.as(ACME).sso.update(moved);
  assert.equal([changed.is_active, changed.tested_at], [false, null]);
  await activate(app, first.id);
  const again = { ...moved, issuer: 'https://third.acme.test', is_active: true };
  assert.ok((await rejectsWith(app.as(ACME).sso.update(again), 'invalid-input')).fields?.is_active);
  await app.as(ACME).sso.update({ id: 1, connection_id: first.id, is_active: false });
  await activate(app, second.id);
});

connections('stay active with another secret, and lose it with another issuer', async ({ app }) => {
  const { id } = await create(app);
  await activate(app, id);
  const update = async (changes: { issuer?: string; client_secret?: string }) => {
    const { is_active, has_secret } = await app.as(ACME).sso.update({ id: 1, connection_id: id, ...changes });
    return { is_active, has_secret };
  };
  assert.equal(await update({ client_secret: 'rotated' }), { is_active: true, has_secret: true });
  const [entry] = await actionsOf(app, { action: 'connection.update' });
  assert.equal(entry?.details, { id, client_secret: { from: null, to: null } });
  const elsewhere = { issuer: 'https://login.elsewhere.test' };
  assert.equal(await update(elsewhere), { is_active: false, has_secret: false });
  const both = { issuer: 'https://login.acme.test', client_secret: 'of the other one' };
  assert.equal(await update(both), { is_active: false, has_secret: true });
});

connections('refuse groups of other clients', async ({ app }) => {
  const foreign = await app.as(GLOBEX).groups.create({ id: 2, name: 'Fleet' });
  const own = await app.as(ACME).groups.create({ id: 1, name: 'Own group' });
  const mapped = { default_groups: [foreign.id], group_mapping: [{ claim: 'a', group: foreign.id }] };
  const register = (groups: object) => app.as(ACME).sso.create({ id: 1, ...REGISTRATION, ...groups });
  const { fields } = await rejectsWith(register(mapped), 'invalid-input');
  const message = `This client has no group ${foreign.id}.`;
  assert.equal(fields, { default_groups: [message], group_mapping: [message] });

  const group_mapping = [{ claim: 'a', group: own.id }];
  const created = await register({ default_groups: [own.id], group_mapping });
  assert.equal([created.default_groups, created.group_mapping], [[own.id], group_mapping]);
  await app.as(ACME).groups.remove({ id: 1, group_id: own.id });
  const [left] = await app.as(ACME).sso.list({ id: 1 });
  assert.equal([left?.default_groups, left?.group_mapping], [[], []]);
});

connections('are required only by admins who can log in with them', async ({ app }) => {
  const { id } = await create(app);
  const required = { id: 1, connection_id: id, is_required: true };
  const inactive = await rejectsWith(app.as(ACME).sso.update(required), 'invalid-input');
  assert.equal(inactive.fields, { is_required: ['Activate the connection first.'] });
  await activate(app, id);
  const domain = await app.as(ROOT).domains.add({ id: 1, domain: 'acme.test' });
  await app.as(ROOT).domains.vouch({ id: 1, domain_id: domain.id });
  await rejectsWith(app.as(ACME).sso.update(required), 'invalid-input');
  await app.as(ROOT).sso.update(required);
  await app.as(ROOT).domains.remove({ id: 1, domain_id: domain.id });
});

for (const [field, value, message] of [
  ['issuer', 'ftp://login.acme.test', 'Must be an https:// address.'],
  ['issuer', 'https://login.acme.test/?tenant=1', 'Must have no query and no fragment.'],
  ['scopes', 'email profile', 'Must contain openid.'],
  ['email_claim', ' ', 'Must not be empty.'],
] as const)
  connections(`refuse the ${field} ${JSON.stringify(value)}`, async ({ app }) => {
    const input = { id: 1, ...REGISTRATION, [field]: value };
    const { fields } = await rejectsWith(app.as(ACME).sso.create(input), 'invalid-input');
    assert.equal(fields?.[field], [message]);
  });

connections('are tested by reading the metadata and keys of the provider', async ({ app }) => {
  const issuer = await startProviderMetadata();
  const { id } = await app.as(ACME).sso.create({ id: 1, ...REGISTRATION, issuer });
  assert.equal(await app.as(ACME).sso.test({ id: 1, connection_id: id }), {
    url: `http://localhost:8000/sso/${id}/start/?test=1`,
  });
  await app.as(ACME).sso.update({ id: 1, connection_id: id, issuer: `${issuer}/other` });
  const refused = await rejectsWith(app.as(ACME).sso.test({ id: 1, connection_id: id }), 'sso-failed');
  assert.match(refused.message, /The provider calls itself|does not match/);
});

connections('are at most 20 of a client, also if created at once', async ({ app }) => {
  for (let n = 0; n < 18; n++) await create(app);
  const settled = await Promise.allSettled(Array.from({ length: 10 }, () => create(app)));
  assert.is(settled.filter(({ status }) => status === 'fulfilled').length, 2);
  const { fields } = await rejectsWith(create(app), 'invalid-input');
  assert.equal(fields, { name: ['A client can have 20 connections. Remove one first.'] });
});

connections.run();

const domains = appSuite('domains');

domains.before.each(async ({ app }) => {
  await sql`delete from client_domains`.execute(app.db());
  app.txtRecords.clear();
});

domains('are at most 50 of a client, also if added at once', async ({ app }) => {
  const add = (n: number) => app.as(ACME).domains.add({ id: 1, domain: `d${n}.acme.test` });
  const settled = await Promise.allSettled(Array.from({ length: 55 }, (_, n) => add(n)));
  assert.is(settled.filter(({ status }) => status === 'fulfilled').length, 50);
  const { fields } = await rejectsWith(add(55), 'invalid-input');
  assert.equal(fields, { domain: ['A client can have 50 domains. Remove one first.'] });
});

domains('are verified by their TXT record', async ({ app }) => {
  const added = await app.as(ACME).domains.add({ id: 1, domain: ' @Acme.Test ' });
  assert.equal(
    [added.domain, added.record_name, added.verified_at],
    ['acme.test', '_steward.acme.test', null],
  );
  assert.match(added.record_value, /^steward-verification=[\w-]{43}$/);
  const verify = () => app.as(ACME).domains.verify({ id: 1, domain_id: added.id });
  const missing = await rejectsWith(verify(), 'invalid-input');
  assert.match(missing.fields?.domain?.[0] ?? '', 'There is no TXT record _steward.acme.test yet.');
  app.txtRecords.set('_steward.acme.test', ['steward-verification=of-another']);
  const other = await rejectsWith(verify(), 'invalid-input');
  assert.match(other.fields?.domain?.[0] ?? '', 'has another value');
  app.txtRecords.set('_steward.acme.test', ['v=spf1 -all', added.record_value]);

  assert.equal((await verify()).verified_at, app.clock.now());
});

domains('are verified by one client', async ({ app }) => {
  const mine = await app.as(ACME).domains.add({ id: 1, domain: 'shared.test' });
  const theirs = await app.as(GLOBEX).domains.add({ id: 2, domain: 'shared.test' });
  app.txtRecords.set(mine.record_name, [mine.record_value, theirs.record_value]);
  const attempts = await Promise.allSettled([
    app.as(ACME).domains.verify({ id: 1, domain_id: mine.id }),
    app.as(GLOBEX).domains.verify({ id: 2, domain_id: theirs.id }),
  ]);
  assert.is(attempts.filter(({ status }) => status === 'fulfilled').length, 1);
});

domains('are vouched for by superusers only', async ({ app }) => {
  const { id } = await app.as(ACME).domains.add({ id: 1, domain: 'acme.test' });
  await rejectsWith(app.as(ACME).domains.vouch({ id: 1, domain_id: id }), 'forbidden');
  await rejectsWith(app.as(GLOBEX).domains.verify({ id: 2, domain_id: id }), 'not-found');
  assert.is((await app.as(ROOT).domains.vouch({ id: 1, domain_id: id })).vouched_by, ROOT);
});

for (const domain of ['localhost', '127.0.0.1', 'a b.test', 'erased.invalid', '-x.test', 'x..test'])
  domains(`refuse ${domain}`, async ({ app }) => {
    await rejectsWith(app.as(ACME).domains.add({ id: 1, domain }), 'invalid-input');
  });

domains('are stored in ASCII, once for each client', async ({ app }) => {
  const add = (domain: string) => app.as(ACME).domains.add({ id: 1, domain });
  assert.is((await add('bücher.example')).domain, 'xn--bcher-kva.example');
  const { fields } = await rejectsWith(add('BÜCHER.example'), 'invalid-input');
  assert.equal(fields, { domain: ['This client has this domain already.'] });
});

domains('lapse when their record is gone, and come back with it', async ({ app }) => {
  const added = await app.as(ACME).domains.add({ id: 1, domain: 'acme.test' });
  app.txtRecords.set(added.record_name, [added.record_value]);
  await app.as(ACME).domains.verify({ id: 1, domain_id: added.id });
  const vouched = await app.as(ROOT).domains.add({ id: 1, domain: 'vouched.test' });
  await app.as(ROOT).domains.vouch({ id: 1, domain_id: vouched.id });
  const recheck = async (read: (name: string) => Promise<string[]>) => {
    const now = app.clock.now();
    const deps = {
      em: app.orm.em.fork(),
      now,
      audit: createAudit(NO_ORIGIN, app.clock),
      readTxtRecords: read,
    };
    await recheckDomains({ ...deps, logger: { warn: () => {} } }, AbortSignal.timeout(60_000));
    return (await app.as(ACME).domains.list({ id: 1 })).map(({ lapsed_at }) => lapsed_at !== null);
  };

  // Not due yet.
  assert.equal(await recheck(async () => []), [false, false]);
  app.clock.advance(DAY_MS);
  const unreachable = () => Promise.reject(new Error('no name server'));
  assert.equal(await recheck(unreachable), [false, false]);
  assert.equal(await recheck(async () => []), [true, false]);
  app.clock.advance(DAY_MS);
  assert.equal(await recheck(async () => [added.record_value]), [false, false]);
  const actions = (await actionsOf(app, { target: 'acme.test' })).slice(0, 4).map(({ action }) => action);
  assert.equal(actions, ['domain.verify', 'domain.lapse', 'domain.verify', 'domain.add']);
});

domains('lead to the provider of their client, whether an address has an account or not', async ({ app }) => {
  const methods = (email: string) => app.as(null).sessions.methods({ email });
  assert.equal(await methods(ADA), { sso: null });
  const { id } = await create(app);
  await activate(app, id);
  const domain = await app.as(ACME).domains.add({ id: 1, domain: 'acme.test' });
  assert.equal(await methods(ADA), { sso: null });
  await app.as(ROOT).domains.vouch({ id: 1, domain_id: domain.id });
  const url = `http://localhost:8000/sso/${id}/start/`;

  for (const email of [ADA, 'ADA@ACME.TEST ', 'no.account@acme.test', 'x@acme.test'])
    assert.equal(await methods(email), { sso: url });
  for (const email of ['ada@globex.test', 'acme.test', 'ada@sub.acme.test'])
    assert.equal(await methods(email), { sso: null });
  await app.as(ROOT).sso.update({ id: 1, connection_id: id, is_active: false });
  assert.equal(await methods(ADA), { sso: null });
});

domains('of a lapsed proof lead nobody once another client has proved them', async ({ app }) => {
  const methods = () => app.as(null).sessions.methods({ email: 'someone@moved.test' });
  const { id } = await create(app);
  await activate(app, id);
  const domain = await app.as(ACME).domains.add({ id: 1, domain: 'moved.test' });
  await app.as(ROOT).domains.vouch({ id: 1, domain_id: domain.id });
  await setRows(app, 'client_domains', { id: domain.id }, { lapsed_at: app.clock.now() });
  assert.is((await methods()).sso, `http://localhost:8000/sso/${id}/start/`);
  const other = await app.as(GLOBEX).domains.add({ id: 2, domain: 'moved.test' });
  await app.as(ROOT).domains.vouch({ id: 2, domain_id: other.id });

  assert.is((await methods()).sso, null);
  await app.as(ROOT).sso.update({ id: 1, connection_id: id, is_active: false });
});

domains.run();
