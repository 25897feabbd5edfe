import * as assert from 'uvu/assert';
import { ACME, appSuite } from '../support/test-app.ts';

const people = (count: number, prefix = 'p') =>
  Array.from({ length: count }, (_, n) => ({ email: `${prefix}${n}@x.test`, initial_apps: ['zylTKNVx'] }));

const bulk = appSuite('invitations.create: bulk');

bulk('accepts at most 10,000', async ({ app }) => {
  const payload = JSON.stringify(people(10_001, 'over'));
  const headers = { 'content-type': 'application/json' };
  const over = await app.send('POST /jb/users/invitations/', { as: ACME, payload, headers });
  const exact = await app.as(ACME).invitations.create({ items: people(10_000, 'exact') });

  assert.is(over.statusCode, 400);
  assert.equal(over.json().errors, { body: ['Must have at most 10000 elements.'] });
  assert.is(exact.length, 10_000);
});

bulk.run();
