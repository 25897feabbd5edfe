import { publishDemoPackages } from '../../src/demo/packages.ts';
import { type Endpoint, REST_ENDPOINTS } from '../../src/http/rest/endpoints.ts';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { addLogouts } from './openid.ts';
import { addRows, rowOf, setRows } from './rows.ts';
import { enroll } from './second-factors.ts';
import { ACME, ADA, DEMO_PASSWORD, GRACE, ROOT, restPath, STAFF, type TestApp } from './test-app.ts';
import { CHURN, SALES } from './usage.ts';

const STACK = 'a0a91e46';
const VIEW = 'a'.repeat(32);
const ids: Record<string, string> = { app_id: SALES, stack_id: STACK, hash: 'h1', email: ADA, key: VIEW };
/** For the path whose email address is an invitation's, not a user's. */
const INVITED = 'one@guest.test';
/** Required query parameters. */
const queries: Record<string, string> = {
  'apps.compare': `people=${encodeURIComponent(`${ADA},${GRACE}`)}`,
  'passwords.previewExpiry': 'days=90',
  'usage.series': `app_id=${SALES}`,
  'mail.timeline': `email=${encodeURIComponent(INVITED)}`,
};

/** Adds rows so that the superuser's lists have at least two items each. */
export const fillLists = async (app: TestApp): Promise<void> => {
  const root = app.as(ROOT);
  for (const hash of ['h1', 'h2'])
    await root.savedFilters.create({ stack_id: STACK, hash, name: `=${hash}` });
  await addSharedFilters(app);
  for (const name of ['=one', 'two'])
    await root.listViews.create({ list: 'people', name, search: { search: name } });
  await root.tokens.createNamed({ name: 'first "script", of two' });
  for (const name of ['one', 'two']) await app.as(ADA).tokens.createNamed({ name });
  for (const email of [INVITED, 'two@guest.test']) {
    await root.invitations.create({ items: [{ email, client: 1, is_demo_user: true }] });
  }
  const { create, createToken } = root.serviceAccounts;
  const service = await create({ name: 'Exports', client: 1 });
  await create({ name: '=two', client: null });
  serviceIds.id = String(service.id);
  for (const name of ['=one', 'two']) {
    const { id } = await createToken({ id: service.id, name });
    serviceIds.token_id = String(id);
    await addUses(app, id);
  }
  await addUses(app, 1);
  for (const name of ['One', 'Two']) await root.groups.create({ id: 1, name, members: [ADA], apps: [SALES] });
  for (const name of ['One', 'Two'])
    await root.sso.create({ id: 1, name, issuer: 'https://login.acme.test', client_id: 'steward' });
  for (const domain of ['acme.test', 'acme.example']) await root.domains.add({ id: 1, domain });
  for (const name of ['One', 'Two'])
    await root.installationSso.create({ name, issuer: 'https://login.ops.test', client_id: 'steward' });
  for (const domain of ['ops.test', 'ops.example']) await root.installationSso.addDomain({ domain });
  for (const description of ['=one', 'two'])
    await root.webhooks.create({ url: 'http://127.0.0.1:9/', client: 1, description });
  await root.webhooks.replay({ id: 1, from: new Date(0) });
  await addIdentities(app);
  const expires_at = new Date(app.clock.now().getTime() + 7 * DAY_MS);
  await root.grants.update({ app_id: CHURN, email: ADA, expires_at });
  await addAccessRequests(app);
  await addUsedViews(app);
  await addLooks(app);
  await root.openid.update({ app_id: SALES, redirect_uris: ['https://sales.acme.test/callback'] });
  await addLogouts(app, SALES, ADA, 2);
  await addDirectory(app);
  await root.roles.setInClient({ id: 1, email: ADA, roles: ['auditor'] });
  await publishDemoPackages(app.store);
  for (const app_version of ['1.0.0', '1.1.0']) {
    await app.as(STAFF).appPackages.fetch({ app_slug: 'sales', app_version });
  }
  await addIdle(app);
  await enroll(app, STAFF);
  for (const username of [ROOT, ROOT, ADA, ADA])
    await app.send('POST /session/', { payload: { username, password: DEMO_PASSWORD } });
};

const addSharedFilters = async (app: TestApp): Promise<void> => {
  const { create, setState, setSharing } = app.as(ADA).savedFilters;
  for (const hash of ['one', 'two']) {
    await create({ stack_id: STACK, hash, name: `=${hash}` });
    await setState({ hash, state: { of: hash }, description: '=for all' });
    await setSharing({ hash, client: true, groups: [] });
  }
};

const addUses = (app: TestApp, token_id: number) =>
  addRows(
    app,
    'token_uses',
    ['users.get', 'users.list'].map((procedure) => ({
      token_id,
      procedure,
      scopes: ['users:read'],
      last_used_at: app.clock.now(),
    })),
  );

const addIdentities = async (app: TestApp): Promise<void> => {
  const { id: user_id } = await rowOf(app, 'users', { email: ADA });
  const about = { connection_id: 1, user_id, email: ADA };
  for (const subject of ['one', '=two'])
    await addRows(app, 'external_identities', { ...about, subject, created_at: app.clock.now() });
};

const addAccessRequests = async (app: TestApp): Promise<void> => {
  await app.as(ROOT).apps.update({ app_id: CHURN, is_requestable: true });
  const { create, withdraw } = app.as(GRACE).requests;
  await withdraw({ id: (await create({ app: CHURN, reason: '=reason' })).id });
  await create({ app: CHURN });
};

const IN_2020 = new Date('2020-01-01T00:00:00Z');

/** Two apps without use, and users who joined in 2020: some never logged in. */
const addIdle = async (app: TestApp): Promise<void> => {
  for (const slug of ['idle-one', 'idle-two']) {
    const id = slug.replace('-', '').padEnd(8, '0');
    await addRows(app, 'apps', { id, client_id: 1, slug, label: slug, created_at: IN_2020 });
  }
  await setRows(app, 'users', {}, { date_joined: IN_2020 });
};

/** Two access views, one of which was used twice. */
const addUsedViews = async (app: TestApp): Promise<void> => {
  for (const user of [ADA, null]) await app.as(ROOT).accessViews.create({ app: 'sales', user });
  const { id } = await app
    .db()
    .updateTable('access_views')
    .set({ key: VIEW })
    .where('user_id', 'is not', null)
    .returning('id')
    .executeTakeFirstOrThrow();
  const applied = {
    autorotate: false,
    show_header: true,
    show_footer: true,
    language_code: '',
    selections: {},
  };
  const use = { access_view_id: id, raw_key: VIEW, used_at: app.clock.now(), ...applied };
  const by = { ip_address: '192.0.2.1', user_agent: '=a browser' };
  for (let count = 0; count < 2; count += 1) await addRows(app, 'access_view_uses', { ...use, ...by });
};

/** Two people and two groups whom a directory would change, and two of its requests. */
const addDirectory = async (app: TestApp): Promise<void> => {
  const now = app.clock.now();
  const times = { created_at: now, modified_at: now };
  for (const email of [ADA, GRACE]) {
    const { id: user_id } = await rowOf(app, 'users', { email });
    const held = { client_id: 1, user_id, is_last_admin: false, held_at: now, tried_at: now };
    await addRows(app, 'directory_holds', held);
  }
  for (const id of ['=one', 'two']) {
    const stated = { id, client_id: 1, stated_by: 0, ...times };
    const email = `${id.replace('=', '')}@directory.test`;
    await addRows(app, 'directory_people', { ...stated, user_name: id, email, is_active: true });
    await addRows(app, 'directory_groups', { ...stated, display_name: id });
    const received = { client_id: 1, received_at: now, method: 'GET', path: `/Users/${id}`, status: 404 };
    await addRows(app, 'directory_requests', { ...received, error: '=No such resource.' });
  }
};

/** Two looks that run: the superuser sees them as the person, and as someone who may end them. */
const addLooks = async (app: TestApp): Promise<void> => {
  const now = app.clock.now();
  const [{ id: user_id }, { id: actor_id }] = [
    await rowOf(app, 'users', { email: ROOT }),
    await rowOf(app, 'users', { email: ACME }),
  ];
  const times = { begun_at: now, ends_at: new Date(now.getTime() + 10 * MINUTE_MS) };
  const about = { user_id, actor_id, app_id: SALES, client_id: 1, session_id: 1, ...times };
  for (const reason of ['=one', 'two'])
    await addRows(app, 'view_as', { ...about, reason, link_digest: reason });
};

/** Needs the cookie of a login that has to set up a second factor. */
const OF_A_LOGIN = 'sessions.enrolment';

/** The ids of `serviceAccounts`, which `fillLists` makes. */
const serviceIds = { id: '1', token_id: '1' };

/** Every GET endpoint with a path to existing data. */
export const readEndpoints = (): { endpoint: Endpoint; path: string }[] =>
  REST_ENDPOINTS.filter(
    ({ method, type, procedure }) => method === 'GET' && type === 'query' && procedure !== OF_A_LOGIN,
  ).map((endpoint) => {
    const named: Record<string, string> = {
      ...ids,
      ...(endpoint.procedure === 'invitations.pending' && { email: INVITED }),
      ...(endpoint.procedure.startsWith('serviceAccounts.') && serviceIds),
    };
    const path = restPath(endpoint.url).replaceAll(/:(\w+)/g, (_match, key: string) =>
      encodeURIComponent(named[key] ?? '1'),
    );
    const query = queries[endpoint.procedure];
    return { endpoint, path: query === undefined ? path : `${path}?${query}` };
  });

/** Of members, not of superusers. */
const EMPTY_LIST = 'requests.requestable';

/** Every endpoint that returns one array. The usage log is streamed and paged differently. */
export const listEndpoints = () =>
  readEndpoints().filter(
    ({ endpoint: { csv, procedure } }) =>
      csv !== null && procedure !== EMPTY_LIST && !procedure.startsWith('usage.listBy'),
  );
