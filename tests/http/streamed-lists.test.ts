import { getHTTPStatusCodeFromError } from '@trpc/server/http';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { addUsers, setUnusualValues } from '../support/users.ts';

const texts = appSuite('lists as JSON text');
/** More users than one chunk holds and one query returns. */
const COUNT = 2_500;

/** All kinds of callers, including an admin with an app of another client. */
const LISTING = [ROOT, STAFF, ACME, GLOBEX];

texts.before(async ({ app }) => {
  await addUsers(app, COUNT);
  for (const email of [ADA, GLOBEX, 'm7@many.test']) await setUnusualValues(app, email);
  await sql`
    insert into app_grants (user_id, app_id) select users.id, apps.id from users, apps where email = ${GLOBEX}
    on conflict do nothing`.execute(app.db());
  await sql`
    insert into memberships (client_id, user_id, is_admin) select id, (select id from users where email = ${ADA}), true
    from clients on conflict (client_id, user_id) do update set is_admin = true`.execute(app.db());
});

type Filter = { app?: string; search?: string; is_active?: boolean; cursor?: string };

const FILTERS: Record<string, Filter> = {
  all: {},
  'those of an app': { app: 'sales' },
  'those of an app behind one': { app: 'sales', cursor: ADA },
  'the inactive': { is_active: false },
  'what is searched for': { search: 'many first 1' },
  none: { search: 'no match at all' },
};

const bodyOf = async (app: TestApp, path: string, as: string): Promise<string> => {
  const answer = await app.send(`GET ${path}`, { as });
  return answer.statusCode === 200 ? answer.body : `${answer.statusCode}`;
};

/** What JSON.stringify makes of the same list, or the status of its failure. */
const plain = async <T>(list: Promise<T[]>): Promise<string> => {
  const [outcome] = await Promise.allSettled([list]);
  if (outcome.status === 'fulfilled') return JSON.stringify(outcome.value);
  return `${getHTTPStatusCodeFromError(outcome.reason)}`;
};

for (const [name, filter] of Object.entries(FILTERS)) {
  texts(`are byte for byte like serialized objects: ${name}`, async ({ app }) => {
    const pairs = Object.entries(filter).map(([key, value]): [string, string] => [key, `${value}`]);
    const query = new URLSearchParams(pairs).toString();
    for (const as of LISTING) {
      assert.is(await bodyOf(app, `/jb/users/?${query}`, as), await plain(app.as(as).users.list(filter)), as);
      if (filter.app !== undefined) continue;
      for (const id of [1, 2]) {
        const path = `/jb/clients/${id}/users/?${query}`;
        assert.is(await bodyOf(app, path, as), await plain(app.as(as).clients.users({ ...filter, id })), as);
      }
    }
  });
}

texts('are byte for byte like serialized objects: apps', async ({ app }) => {
  await sql`
    update apps set label = E'"\\\\\n\t', help_html = '<b>\U+01F600', package_info = '{"a":["\\u0000"]}'
    where slug = 'sales'`.execute(app.db());
  await sql`delete from usage_windows where app_id = (select id from apps where slug = 'churn')`.execute(
    app.db(),
  );
  for (const as of [...LISTING, ADA, GRACE]) {
    const body = await bodyOf(app, '/jb/apps/', as);
    assert.is(body, await plain(app.as(as).apps.list({})), as);
    const [first] = JSON.parse(body);
    const rest = await bodyOf(app, `/jb/apps/?cursor=${first.id}`, as);
    assert.is(rest, await plain(app.as(as).apps.list({ cursor: first.id })), as);
  }
});

texts('advance the usage windows of apps that are of an earlier day', async ({ app }) => {
  app.clock.advance(DAY_MS);
  const body = await bodyOf(app, '/jb/apps/', ROOT);
  app.clock.advance(-DAY_MS);

  const { rows } = await sql`select distinct day::text from usage_windows`.execute(app.db());
  assert.equal(rows, [{ day: '2026-11-22' }]);
  app.clock.advance(DAY_MS);
  assert.is(body, await plain(app.as(ROOT).apps.list({})));
  app.clock.advance(-DAY_MS);
});

texts('contain all rows in more than one chunk', async ({ app }) => {
  const answer = await app.send('GET /jb/users/', { as: ROOT });
  const emails = answer.json().map(({ email }: { email: string }) => email);

  assert.is(answer.headers['content-length'], undefined);
  assert.ok(emails.length > COUNT);
  assert.is(new Set(emails).size, emails.length);
});

texts('have a Content-Length if they are one chunk', async ({ app }) => {
  const few = await app.send('GET /jb/users/?search=acme', { as: ROOT });
  const head = await app.send('HEAD /jb/users/?search=acme', { as: ROOT });

  assert.is(Number(few.headers['content-length']), Buffer.byteLength(few.body));
  assert.is(head.headers['content-length'], few.headers['content-length']);
  assert.equal((await app.send('GET /jb/users/?search=no+match+at+all', { as: ROOT })).body, '[]');
});

texts('are refused before the first byte', async ({ app }) => {
  const statusOf = async (path: string, as: string) => (await app.send(`GET ${path}`, { as })).statusCode;

  assert.is(await statusOf('/jb/users/?app=no-such', ROOT), 404);
  assert.is(await statusOf('/jb/users/?cursor=unknown@x.test', ROOT), 400);
  assert.is(await statusOf('/jb/clients/2/users/', ACME), 404);
  assert.is(await statusOf('/jb/users/', GRACE), 403);
});

texts.run();
