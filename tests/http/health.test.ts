import * as assert from 'uvu/assert';
import { appSuite } from '../support/test-app.ts';

const health = appSuite('health');

health('/healthz, /readyz and /status/ answer 200, with any credentials or none', async ({ app }) => {
  assert.equal((await app.send('GET !/healthz')).json(), { status: 'ok' });
  for (const authorization of [undefined, 'Token unknown', 'Basic eDp5'])
    for (const path of ['!/readyz', '/status/', '/status']) {
      const response = await app.send(`GET ${path}`, { headers: { authorization } });
      assert.equal([response.statusCode, response.json()], [200, { status: 'ready' }]);
    }
  assert.is((await app.send('POST /status/', { payload: {} })).statusCode, 405);
});

health('/avatars/ draws only a single letter', async ({ app }) => {
  const drawn = await app.send('GET !/avatars/a.svg');

  assert.is(drawn.headers['content-type'], 'image/svg+xml; charset=utf-8');
  assert.match(drawn.body, />A<\/text>/);
  for (const file of ['', 'ab3.svg', '%3Cscript%3E.svg', '%3C.svg', 'a.png', '..%2F..%2Fx.svg']) {
    assert.is((await app.send(`GET !/avatars/${file}`)).statusCode, 404, file);
  }
});

health('/healthz fails while all connections are taken and none is used', async ({ app }) => {
  const { pool } = app.orm;
  const lost = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
  const isStuck = pool.isStuck.bind(pool);
  pool.isStuck = () => isStuck(0);
  const stuck = await app.send('GET !/healthz').finally(() => {
    for (const client of lost) client.release();
  });

  assert.is(stuck.statusCode, 503);
  assert.is((await app.send('GET !/healthz')).statusCode, 200);
});

health('/readyz and /status/ fail while a migration is missing', async ({ app }) => {
  await app.orm.em.fork().execute(`delete from mikro_orm_migrations where name = '0001-schema'`);
  for (const path of ['!/readyz', '/status/']) {
    const response = await app.send(`GET ${path}`);
    assert.is(response.statusCode, 503);
    assert.ok(response.headers['retry-after']);
  }
  assert.is((await app.send('GET !/healthz')).statusCode, 200);
});

health.run();
