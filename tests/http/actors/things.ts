import { DAY_MS } from '../../../src/lib/clock.ts';
import { userId } from '../../support/access-views.ts';
import { startProviderMetadata } from '../../support/identity-provider.ts';
import { givePassword } from '../../support/logins.ts';
import { addRows, rowOf } from '../../support/rows.ts';
import { enroll } from '../../support/second-factors.ts';
import { ACME, DEMO_PASSWORD, GLOBEX, ROOT, type TestApp } from '../../support/test-app.ts';
import { FLEET, SALES } from '../../support/usage.ts';

const CLIENTS = [
  { id: 1, admin: ACME, app: SALES, slug: 'sales', stack: 'a0a91e46', domain: 'acme.test' },
  { id: 2, admin: GLOBEX, app: FLEET, slug: 'fleet', stack: 'd3d64b79', domain: 'globex.test' },
] as const;

export type Things = Awaited<ReturnType<typeof thingsOf>>;

/** One object of each kind in each of the two clients. */
export const makeThings = async (app: TestApp) => {
  const issuer = await startProviderMetadata();
  const root = app.as(ROOT).installationSso;
  await root.create({ name: 'Operations', issuer, client_id: 'steward' });
  await root.addDomain({ domain: 'ops.test' });
  return { 1: await thingsOf(app, CLIENTS[0], issuer), 2: await thingsOf(app, CLIENTS[1], issuer) };
};

/** `email` is a person without roles, to whom the token, the session, the factor, the filter and the request belong. */
const thingsOf = async (app: TestApp, client: (typeof CLIENTS)[number], issuer: string) => {
  const { id, admin, domain } = client;
  const at = app.clock.now();
  const by = app.as(admin);
  const email = `person@${domain}`;
  const spare = `spare00${id}`;
  await addRows(app, 'apps', { id: spare, client_id: id, slug: spare, label: spare, created_at: at });
  await by.apps.update({ app_id: spare, is_requestable: true });
  await by.users.create({ email, apps: [client.app], client: id });
  const of = await credentialsOf(app, email, client.stack);
  const group = await by.groups.create({ id, name: 'Team', apps: [client.app] });
  const provider = { name: 'ID', issuer, client_id: 'steward' };
  const connection = await by.sso.create({ id, ...provider });
  const added = await by.domains.add({ id, domain });
  const linked = { connection_id: connection.id, user_id: of.userId, subject: email, email, created_at: at };
  await addRows(app, 'external_identities', linked);
  const webhook = await by.webhooks.create({ url: 'http://127.0.0.1:9/', client: id });
  await by.openid.update({ app_id: client.app, redirect_uris: ['https://app.test/callback'] });
  const held = { client_id: id, user_id: of.userId, is_last_admin: false, held_at: at, tried_at: at };
  await addRows(app, 'directory_holds', held);
  const service = await by.serviceAccounts.create({ name: 'Exports', client: id });
  const serviceToken = await by.serviceAccounts.createToken({ id: service.id, name: 'Host' });
  const shared = { list: 'people', name: 'All', search: {}, client: id, is_shared: true } as const;
  const listView = await by.listViews.create(shared);
  const view = await by.accessViews.create({ app: client.slug });
  const invited = `guest@${domain}`;
  const [invitation] = await by.invitations.create({ items: [{ email: invited, client: id }] });
  const mail = (await by.mail.list({})).find(({ recipient }) => recipient === invited);
  await by.usage.record({ app_id: client.app, entries: [{ email, action: 'STACK_ACCESS' }] });
  const request = await app.as(email).requests.create({ app: spare });
  const { operation } = await by.users.bulkUpdate({ emails: [email], action: 'reactivate' });
  return {
    ...{ ...client, ...of, email, spare, invited, operation, provider },
    ...{ group: group.id, connection: connection.id, domainId: added.id, webhook: webhook.id },
    ...{ service: service.id, serviceToken: serviceToken.id, view: String(view.id), request: request.id },
    listView: listView.id,
    ...{ invitation: invitation?.id ?? 0, mail: mail?.id ?? 0 },
    look: await lookOf(app, { user_id: of.userId, app_id: client.app, client_id: id }),
    identity: (await rowOf(app, 'external_identities', { subject: email })).id,
  };
};

/** A look as the person, by a superuser. */
const lookOf = async (app: TestApp, about: { user_id: number; app_id: string; client_id: number }) => {
  const begun_at = app.clock.now();
  const ends_at = new Date(begun_at.getTime() + 365 * DAY_MS);
  const by = { actor_id: await userId(app, ROOT), session_id: 1, link_digest: about.app_id, reason: 'Test' };
  await addRows(app, 'view_as', { ...about, ...by, begun_at, ends_at });
  return (await rowOf(app, 'view_as', { link_digest: about.app_id })).id;
};

/** What a person has to log in, and a saved filter. */
const credentialsOf = async (app: TestApp, email: string, stack: string) => {
  await givePassword(app, email);
  await app.send('POST /session/', { payload: { username: email, password: DEMO_PASSWORD } });
  const { id: token } = await app.as(email).tokens.createNamed({ name: 'Export' });
  const hash = `of-${email.replace(/\W/g, '-')}`;
  await app.as(email).savedFilters.create({ stack_id: stack, hash, name: 'Spring' });
  const user_id = await userId(app, email);
  await enroll(app, email);
  const { factors } = await app.as(email).mfa.list({});
  const session = (await rowOf(app, 'sessions', { user_id })).id;
  return { userId: user_id, token, hash, session, factor: factors[0]?.id ?? 0 };
};
