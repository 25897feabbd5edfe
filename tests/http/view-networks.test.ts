import * as assert from 'uvu/assert';
import { setApp } from '../support/access-views.ts';
import { ACME, appSuite, type TestApp } from '../support/test-app.ts';

const networks = appSuite('networks of access views', { TRUST_PROXY: '1' });

networks.before(({ app }) => setApp(app, { launch_url: 'https://sales.example.com/' }));

const statusFrom = async (app: TestApp, key: string, address: string) => {
  const headers = { accept: 'text/html', 'x-forwarded-for': address };
  return (await app.send(`GET !/v/${key}/`, { headers })).statusCode;
};

networks('are compared with the address that a trusted proxy forwards', async ({ app }) => {
  const allowed_networks = '10.0.0.0/8, 2001:db8::/32, 192.0.2.7';
  const { key } = await app
    .as(ACME)
    .accessViews.create({ app: 'sales', allowed_networks, allowed_uses_cnt: 0 });

  const inside = [
    '10.1.2.3',
    '::ffff:10.1.2.3',
    '::FFFF:0a01:0203',
    '2001:db8::1',
    '2001:DB8:0:0::9',
    '192.0.2.7',
  ];
  for (const address of inside) assert.is(await statusFrom(app, key, address), 303, address);
  const outside = [
    '11.0.0.1',
    '::ffff:11.0.0.1',
    '2001:db9::1',
    '::10.1.2.3',
    '192.0.2.8',
    '127.0.0.1',
    '::1',
  ];
  for (const address of outside) assert.is(await statusFrom(app, key, address), 403, address);
  for (const nonsense of ['unknown', '10.1.2', '10.1.2.3.4', '10.1.2.3/8', 'fe80::1%eth0', "10.0.0.1'"])
    assert.is(await statusFrom(app, key, nonsense), 403, nonsense);
  assert.is(await statusFrom(app, key, '10.1.2.3, 11.0.0.1'), 403, 'a caller adds addresses in front');
  const uses = await app.as(ACME).accessViews.uses({ key });
  assert.equal(uses.map(({ ip_address }) => ip_address).reverse(), inside);
});

networks('allow any address if the view has none, even an invalid one', async ({ app }) => {
  const { key } = await app.as(ACME).accessViews.create({ app: 'sales', allowed_uses_cnt: 0 });

  for (const address of ['unknown', '10.1.2.3', '::1']) assert.is(await statusFrom(app, key, address), 303);
});

networks.run();
