import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite } from '../support/test-app.ts';

const bulk = appSuite('invitations.create: bulk');

bulk('accepts at most 10,000', async ({ app }) => {
  const items = Array.from({ length: 10_001 }, (_, n) => ({
    email: `p${n}@x.test`,
    initial_apps: ['zylTKNVx'],
  }));
  const { create } = app.as(ACME).invitations;

  await rejectsWith(create({ items }), 'invalid-input');
  assert.is((await create({ items: items.slice(1) })).length, 10_000);
});

bulk.run();
