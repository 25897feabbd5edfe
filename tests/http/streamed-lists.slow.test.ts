import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { ACME, ADA, appSuite, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';
import { addUsers } from '../support/users.ts';

const lists = appSuite('lists as JSON text and CSV');

/** Users of 8 KB each: more than one chunk holds. */
const COUNT = 300;

lists.before(async ({ app }) => {
  await addUsers(app, COUNT);
  await sql`update memberships set extra = ('{"filler":"' || repeat('x', 8000) || '"}')::json
    where user_id in (select id from users where email like 'm%@many.test')`.execute(app.db());
});

lists('advance the usage windows of apps that are of an earlier day', async ({ app }) => {
  app.clock.advance(DAY_MS);
  const { body } = await app.send('GET /jb/apps/', { as: ROOT });
  app.clock.advance(-DAY_MS);

  const { rows } = await sql`select distinct day::text from usage_windows`.execute(app.db());
  assert.equal(rows, [{ day: '2026-11-22' }]);
  app.clock.advance(DAY_MS);
  assert.is(body, JSON.stringify(await app.as(ROOT).apps.list({})));
  app.clock.advance(-DAY_MS);
});

lists('contain all rows in more than one chunk', async ({ app }) => {
  const answer = await app.send('GET /jb/users/', { as: ROOT });
  const emails = answer.json().map(({ email }: { email: string }) => email);

  assert.is(answer.headers['content-length'], undefined);
  assert.ok(emails.length > COUNT);
  assert.is(new Set(emails).size, emails.length);
});

lists('have a Content-Length if they are one chunk', async ({ app }) => {
  const few = await app.send('GET /jb/users/?search=acme', { as: ROOT });
  const head = await app.send('HEAD /jb/users/?search=acme', { as: ROOT });

  assert.is(Number(few.headers['content-length']), Buffer.byteLength(few.body));
  assert.is(head.headers['content-length'], few.headers['content-length']);
  assert.equal((await app.send('GET /jb/users/?search=no+match+at+all', { as: ROOT })).body, '[]');
});

lists('are refused before the first byte', async ({ app }) => {
  const statusOf = async (path: string, as: string) => (await app.send(`GET ${path}`, { as })).statusCode;

  assert.is(await statusOf('/jb/users/?app=no-such', ROOT), 404);
  assert.is(await statusOf('/jb/users/?cursor=unknown@x.test', ROOT), 400);
  assert.is(await statusOf('/jb/clients/2/users/', ACME), 404);
  assert.is(await statusOf('/jb/users/', GRACE), 403);
});

const read = (app: TestApp, accept = 'application/json', path = `/jb/apps/${SALES}/usage/`, as = STAFF) =>
  app.send(`GET ${path}`, { as, headers: { accept } });

lists(
  'of usage have the same format for one user, whose newest entry alone is one object or one line',
  async ({ app }) => {
    const path = `/jb/users/${ADA}/usage/${SALES}/`;
    const newest = (await read(app, 'application/json', path)).json();
    const window = (await read(app, 'application/json', `${path}?window=120`)).json();
    const csv = await read(app, 'text/csv', path);

    assert.equal(newest, window[0]);
    assert.ok(window.length > 100);
    assert.is(csv.body.trimEnd().split('\r\n').length, 2);
  },
);

lists('of usage fail with their own status before the first byte', async ({ app }) => {
  const statusOf = async (as: string, accept: string) =>
    (await read(app, accept, `/jb/apps/${SALES}/usage/`, as)).statusCode;

  assert.is(await statusOf(GRACE, 'text/csv'), 403);
  assert.is(await statusOf(ACME, 'image/png'), 406);
  const head = await app.send(`HEAD /jb/apps/${SALES}/usage/`, { as: ROOT });
  const { headers } = await read(app);
  assert.equal(
    [head.statusCode, head.body, head.headers['content-length']],
    [200, '', headers['content-length']],
  );
});

lists.run();
