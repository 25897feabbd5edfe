import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { userId } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows } from '../support/rows.ts';
import { ACME, ADA, appSuite, EDSGER, GRACE, ROOT } from '../support/test-app.ts';

const filters = appSuite('saved filters');

filters('is created with a hash of the user, and has a description', async ({ app }) => {
  const made = await app.as(ADA).savedFilters.create({ stack_id: 'b1b82f57', hash: 'a-1', name: 'North' });

  assert.equal(made, {
    user: ADA,
    stack: 'Trends for Sales App',
    hash: 'a-1',
    name: 'North',
    created: app.clock.now(),
    modified: app.clock.now(),
  });
  assert.equal(await app.as(ADA).savedFilters.get({ hash: 'a-1' }), made);
});

filters('may have the hash of a filter of another user', async ({ app }) => {
  const input = { stack_id: 'a0a91e46', hash: 'own' };
  await app.as(ADA).savedFilters.create({ ...input, name: 'Ada’s' });

  assert.is((await app.as(GRACE).savedFilters.create({ ...input, name: 'Grace’s' })).user, GRACE);
  assert.is((await app.as(ADA).savedFilters.get({ hash: 'own' })).name, 'Ada’s');
});

filters('refuses a hash that the user already has', async ({ app }) => {
  const input = { stack_id: 'a0a91e46', hash: 'twice', name: 'x' };
  const attempts = await Promise.allSettled([1, 2, 3, 4].map(() => app.as(ADA).savedFilters.create(input)));
  const again = await rejectsWith(app.as(ADA).savedFilters.create(input), 'invalid-input');

  assert.is(attempts.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.ok(again.fields?.hash);
});

filters('requires a stack of an app that the user can open', async ({ app }) => {
  for (const stack_id of ['d3d64b79', '00000000', 'no stack']) {
    const attempt = app.as(ADA).savedFilters.create({ stack_id, hash: 's', name: 'x' });
    assert.ok((await rejectsWith(attempt, 'invalid-input')).fields?.stack_id, stack_id);
  }
  assert.ok(await app.as(EDSGER).savedFilters.create({ stack_id: 'd3d64b79', hash: 's', name: 'x' }));
});

filters('is listed with all others, and by stack', async ({ app }) => {
  const mine = app.as(EDSGER).savedFilters;
  await mine.create({ stack_id: 'd3d64b79', hash: 'l1', name: 'x' });
  const hashes = (rows: { hash: string }[]) => rows.map((row) => row.hash);

  assert.equal(hashes(await mine.list({})), ['s', 'l1']);
  assert.equal(hashes(await mine.listByStack({ stack_id: 'd3d64b79' })), ['s', 'l1']);
  assert.equal(await app.as(GRACE).savedFilters.listByStack({ stack_id: 'b1b82f57' }), []);
  await rejectsWith(mine.listByStack({ stack_id: 'a0a91e46' }), 'not-found');
});

filters('can be replaced, also with another hash and stack', async ({ app }) => {
  const mine = app.as(GRACE).savedFilters;
  const made = await mine.create({ stack_id: 'a0a91e46', hash: 'm1', name: 'One' });
  await mine.create({ stack_id: 'a0a91e46', hash: 'm2', name: 'Two' });
  app.clock.advance(MINUTE_MS);
  const moved = await mine.replace({
    hash: 'm1',
    filter: { stack_id: 'b1b82f57', hash: 'm3', name: 'Three' },
  });

  assert.equal([moved.hash, moved.stack, moved.created], ['m3', 'Trends for Sales App', made.created]);
  assert.equal(moved.modified, app.clock.now());
  await rejectsWith(mine.get({ hash: 'm1' }), 'not-found');
  const clash = mine.replace({ hash: 'm3', filter: { stack_id: 'a0a91e46', hash: 'm2', name: 'x' } });
  assert.ok((await rejectsWith(clash, 'invalid-input')).fields?.hash);
});

filters('has the hash of the path, is renamed by that of the body, and deleted once', async ({ app }) => {
  await app.as(ADA).savedFilters.create({ stack_id: 'a0a91e46', hash: 'path', name: 'x' });
  const send = (line: string, payload?: object) =>
    app.send(`${line.replace(' ', ' /hashr/saved_global_filters/')}/`, {
      as: ADA,
      ...(payload && { payload }),
    });

  assert.equal(Object.keys((await send('PUT path', { name: 'y' })).json().errors), ['stack_id', 'hash']);
  const filter = { stack_id: 'a0a91e46', hash: 'body', name: 'y' };
  assert.is((await send('PUT path', filter)).statusCode, 204);
  assert.is((await send('GET body')).json().name, 'y');
  assert.is((await send('DELETE body')).statusCode, 204);
  assert.is((await send('DELETE body')).statusCode, 404);
});

filters('can be moved by one of several concurrent requests; others fail', async ({ app }) => {
  const mine = app.as(GRACE).savedFilters;
  await mine.create({ stack_id: 'a0a91e46', hash: 'race', name: 'x' });
  const outcomes = await Promise.allSettled(
    ['one', 'two', 'three'].map((name) =>
      mine.replace({ hash: 'race', filter: { stack_id: 'a0a91e46', hash: 'won', name } }),
    ),
  );
  const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.name] : []));

  assert.equal(won, [(await mine.get({ hash: 'won' })).name]);
});

filters('cannot be replaced after the user has lost the app, even with the same stack', async ({ app }) => {
  const mine = app.as(GRACE).savedFilters;
  await mine.create({ stack_id: 'a0a91e46', hash: 'lost', name: 'x' });
  await app.as(ACME).users.update({ email: GRACE, apps: [] });

  const same = mine.replace({ hash: 'lost', filter: { stack_id: 'a0a91e46', hash: 'lost', name: 'y' } });
  const { fields } = await rejectsWith(same, 'invalid-input');

  assert.equal(fields, { stack_id: ['There is no stack a0a91e46 of an app that you can open.'] });
  assert.is((await mine.get({ hash: 'lost' })).name, 'x');
  await mine.remove({ hash: 'lost' });
  await app.as(ACME).users.update({ email: GRACE, apps: ['zylTKNVx'] });
});

filters('is limited to 1,000 per user, also with concurrent requests', async ({ app }) => {
  const mine = app.as(ROOT).savedFilters;
  const filter = { stack_id: 'a0a91e46', name: 'x' };
  const id = await userId(app, ROOT);
  const now = app.clock.now();
  const row = { ...filter, user_id: id, created: now, modified: now };
  await addRows(
    app,
    'saved_filters',
    Array.from({ length: 998 }, (_, n) => ({ ...row, hash: `bulk${n}` })),
  );

  const attempts = Array.from({ length: 6 }, (_, n) => mine.create({ ...filter, hash: `more${n}` }));
  const outcomes = await Promise.allSettled(attempts);
  const full = await rejectsWith(mine.create({ ...filter, hash: 'over' }), 'invalid-input');

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
  assert.equal(full.fields, { hash: ['You already have 1000 saved filters. Delete one first.'] });
  assert.is((await mine.replace({ hash: 'bulk1', filter: { ...filter, hash: 'moved' } })).hash, 'moved');
  await mine.remove({ hash: 'bulk2' });
  assert.ok(await mine.create({ ...filter, hash: 'room' }));
});

filters.run();
