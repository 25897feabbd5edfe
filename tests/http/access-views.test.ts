import * as assert from 'uvu/assert';
import { nodeAddress } from '../../src/lib/ip-networks.ts';
import { setApp } from '../support/access-views.ts';
import { ACME, ADA, appSuite, type TestApp } from '../support/test-app.ts';

const views = appSuite('access views over REST');

const V1 = '/access_views/';
const V2 = '!/api/v2/accessviews/';

const create = async (app: TestApp, body: object = {}) =>
  (await app.send(`POST ${V1}`, { as: ACME, payload: { app: 'sales', ...body } })).json();

for (const path of [V1, V2])
  views(`creates, reads, changes and deactivates at ${path}`, async ({ app }) => {
    const headers = { authorization: `Bearer ${await app.tokenOf(ACME)}` };

    const made = await app.send(`POST ${path}`, { headers, payload: { app: 'sales', user: ADA } });
    assert.is(made.statusCode, 201);
    const { key } = made.json();
    assert.is(made.headers.location, `/api/v1/access_views/${key}/`);
    const whole = made.json();
    const payload = { ...whole, autorotate: true };
    const replaced = await app.send(`PUT ${path}${key}`, { headers, payload });
    assert.equal(replaced.json(), { ...whole, autorotate: true, modified: replaced.json().modified });
    const patched = await app.send(`PATCH ${path}${key}/`, { headers, payload: { autorotate: false } });
    assert.is(patched.json().autorotate, false);
    const read = async (more: string) => (await app.send(`GET ${path}${more}`, { headers })).json();
    assert.equal(await read(`${key}/`), patched.json());
    assert.equal((await read(''))[0], patched.json());
    assert.equal(await read(`${key}/usage/`), []);
    const gone = await app.send(`DELETE ${path}${key}/`, { headers });
    assert.equal([gone.statusCode, gone.body], [204, '']);
    assert.is((await read(`${key}/`)).is_active, false);
  });

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

views('takes forms, with the texts that Python and browsers send', async ({ app }) => {
  const form = new URLSearchParams({
    app_slug: 'sales',
    user_email: ADA,
    is_active: 'True',
    show_footer: 'false',
    allowed_uses_cnt: '7',
    expires_at: '2030-01-31T12:00:00+01:00',
    data_permissions: '{"region":["north"]}',
    allowed_networks: '10.0.0.0/8',
    language_code: 'de',
  });
  const made = await app.send(`POST ${V1}`, { as: ACME, headers: FORM, payload: `${form}` });

  assert.is(made.statusCode, 201, made.body);
  const { key, ...view } = made.json();
  assert.equal(view, {
    ...view,
    app: 'sales',
    user: ADA,
    is_active: true,
    allowed_uses_cnt: 7,
    expires_at: '2030-01-31T11:00:00.000Z',
    data_permissions: { region: ['north'] },
    allowed_networks: '10.0.0.0/8',
    show_footer: false,
    language_code: 'de',
  });
  for (const method of ['PUT', 'PATCH']) {
    const payload = 'expires_at=&data_permissions=&stack_slug=trends';
    const changed = await app.send(`${method} ${V1}${key}/`, { as: ACME, headers: FORM, payload });
    const { expires_at, data_permissions, stack_slug } = changed.json();
    assert.equal([expires_at, data_permissions, stack_slug], [null, {}, 'trends'], changed.body);
  }
});

views('filters by flags in the query, also in the links to other pages', async ({ app }) => {
  const [red, blue] = [
    await create(app, { flags: { 'the color': 'red', n: 1 } }),
    await create(app, { flags: { 'the color': 'blue', n: 1 } }),
  ];
  const keys = async (query: string) => {
    const { body, headers } = await app.send(`GET ${V1}?${query}`, { as: ACME });
    return { keys: JSON.parse(body).map(({ key }: { key: string }) => key), next: headers['x-next'] };
  };

  assert.equal((await keys('flags.the%20color=red')).keys, [red.key]);
  assert.equal((await keys('flags.n=1&flags.the+color=blue&app=sales')).keys, [blue.key]);
  const { keys: first, next } = await keys('flags.n=1&page_size=1');
  assert.equal(first, [blue.key]);
  assert.equal((await keys(new URL(String(next)).search.slice(1))).keys, [red.key]);
});

/** Texts that could break out of a parameter, a JSON path or a statement. */
const HOSTILE = [`'"\\$.a[0]{}--% `, '__proto__'];

views('takes any text as the name and value of a flag, and finds exactly those with it', async ({ app }) => {
  for (const name of HOSTILE) {
    const { key } = await create(app, { flags: Object.fromEntries([[name, `=${name}`]]) });
    const found = async (value: string) => {
      const query = new URLSearchParams([[`flags.${name}`, value]]);
      const response = await app.send(`GET ${V1}?${query}`, { as: ACME });
      assert.is(response.statusCode, 200, `${name}: ${response.body}`);
      return response.json().map((view: { key: string }) => view.key);
    };
    assert.equal(await found(`=${name}`), [key], name);
    assert.equal(await found('other'), [], name);
  }
  for (const query of ['flags.a=%00', 'flags.a=1&flags.a=2', 'flags=x', `flags.${'x'.repeat(300)}=1`]) {
    const refused = await app.send(`GET ${V1}?${query}`, { as: ACME });
    assert.is(refused.statusCode, 400, query);
  }
});

views.run();

const networks = appSuite('networks of access views', { TRUST_PROXY: '1' });

networks.before(({ app }) => setApp(app, { launch_url: 'https://sales.example.com/' }));

const statusFrom = async (app: TestApp, key: string, address: string) => {
  const headers = { accept: 'text/html', 'x-forwarded-for': address };
  return (await app.send(`GET !/v/${key}/`, { headers })).statusCode;
};

networks('are compared with the address that a trusted proxy forwards', async ({ app }) => {
  const allowed_networks = '10.0.0.0/8, 2001:db8::/32, 192.0.2.7';
  const create = async (more = {}) =>
    (await app.as(ACME).accessViews.create({ app: 'sales', allowed_uses_cnt: 0, ...more })).key;
  const [key, open] = [await create({ allowed_networks }), await create()];

  const inside = ['10.1.2.3', '::ffff:10.1.2.3', '10.1.2.3:50001', '[2001:db8::1]:443', '192.0.2.7'];
  for (const address of inside) assert.is(await statusFrom(app, key, address), 303, address);
  for (const address of ['11.0.0.1', '2001:db9::1', 'unknown'])
    assert.is(await statusFrom(app, key, address), 403, address);
  assert.is(await statusFrom(app, key, '10.1.2.3, 11.0.0.1'), 403, 'a caller adds addresses in front');
  assert.is(await statusFrom(app, open, 'unknown'), 303, 'a view without networks allows any address');
  const uses = await app.as(ACME).accessViews.uses({ key });
  assert.equal(uses.map(({ ip_address }) => ip_address).reverse(), inside.map(nodeAddress));
});

networks.run();
