import { getHTTPStatusCodeFromError } from '@trpc/server/http';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { NOON } from '../support/time.ts';
import { collectPages, FLEET, logEntry, SALES } from '../support/usage.ts';
import { addUsers, setUnusualValues } from '../support/users.ts';

const lists = appSuite('lists as JSON text and CSV');

/** Users of 8 KB each: more than one chunk holds. */
const COUNT = 300;

/** All kinds of callers, including an admin with an app of another client. */
const LISTING = [ROOT, ACME, GLOBEX];

lists.before(async ({ app }) => {
  await addUsers(app, COUNT);
  await sql`update memberships set extra = ('{"filler":"' || repeat('x', 8000) || '"}')::json
    where user_id in (select id from users where email like 'm%@many.test')`.execute(app.db());
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
  lists(`are byte for byte like serialized objects: ${name}`, async ({ app }) => {
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

lists('of apps are byte for byte like serialized objects', async ({ app }) => {
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

lists('advance the usage windows of apps that are of an earlier day', async ({ app }) => {
  app.clock.advance(DAY_MS);
  const body = await bodyOf(app, '/jb/apps/', ROOT);
  app.clock.advance(-DAY_MS);

  const { rows } = await sql`select distinct day::text from usage_windows`.execute(app.db());
  assert.equal(rows, [{ day: '2026-11-22' }]);
  app.clock.advance(DAY_MS);
  assert.is(body, await plain(app.as(ROOT).apps.list({})));
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

const PATHS = ['/jb/users/', '/jb/apps/'];

const VALUES = ["';drop table users;--", '\\', "\\'", "E'\\n", '$1', '?', '%_\\\\', '😀'];

lists('find for any text what a page finds, although its literals are of COPY', async ({ app }) => {
  for (const value of VALUES)
    for (const path of PATHS) {
      const url = `GET ${path}?search=${encodeURIComponent(value)}`;
      const whole = await app.send(url, { as: ACME });
      const page = await app.send(`${url}&page=1&page_size=100`, { as: ACME });

      assert.equal([whole.statusCode, page.statusCode], [200, 200], value);
      assert.is(whole.body, page.body, value);
    }
});

lists('refuse a search with NUL, which would end the statement', async ({ app }) => {
  for (const path of PATHS) {
    const response = await app.send(`GET ${path}?search=a%00b`, { as: ROOT });

    assert.is(response.statusCode, 400, path);
    assert.match(response.body, 'search');
  }
});

/** NUL, a lone surrogate, quotes of PostgreSQL arrays, and an overlong address. */
const NONE = ['a%00b@x.test', '%ED%A0%80@x.test', `x%5C%22%7B%7D,'@x.test`, '%F0%9F%98%80', 'x'.repeat(300)];

lists('of one user: a malformed address does not fail other lookups of the same batch', async ({ app }) => {
  await app.tokenOf(ROOT);
  const paths = NONE.flatMap((address) => [address, ADA]);
  const responses = await Promise.all(
    paths.map((address) => app.send(`GET /jb/users/${address}/`, { as: ROOT })),
  );

  for (const [index, { statusCode }] of responses.entries()) {
    if (paths[index] === ADA) assert.is(statusCode, 200);
    else assert.ok(statusCode === 400 || statusCode === 404, `${paths[index]}: ${statusCode}`);
  }
});

lists('have objects as JSON in CSV', async ({ app }) => {
  const { body, headers } = await app.send('GET /jb/apps/', { as: ROOT, headers: { accept: 'text/csv' } });
  const [header, first] = body.split('\r\n');
  const [listed] = await app.as(ROOT).apps.list({});

  assert.is(headers['content-type'], 'text/csv; charset=utf-8');
  assert.equal(header?.split(',').toSorted(), Object.keys(listed ?? {}).toSorted());
  assert.ok(first?.includes(`"${JSON.stringify(listed?.usage).replaceAll('"', '""')}"`), first);
});

const read = (app: TestApp, accept = 'application/json', path = `/jb/apps/${SALES}/usage/`, as = STAFF) =>
  app.send(`GET ${path}`, { as, headers: { accept } });

lists('of usage are byte for byte equal to the same entries as one array', async ({ app }) => {
  const odd = { 'a"b': ['\u0000', '\ud83d\ude00', 1e21, -0.5, null], __proto__x: {}, 7: 'seven' };
  await writeUsage(
    app.orm.em.fork(),
    SALES,
    [
      {
        ...logEntry(0, 'o"dd@x.test'),
        fullName: 'Ünï\\"\n',
        actionDescription: '\t"\u2028',
        extra: JSON.stringify(odd),
      },
    ],
    NOON,
  );
  const entries = await collectPages(await app.as(STAFF).usage.listByApp({ app_id: SALES, window: 120 }));
  const response = await read(app, 'application/json', `/jb/apps/${SALES}/usage/?window=120`);

  assert.ok(entries.length > 300, 'more than one page');
  assert.is(response.headers['content-type'], 'application/json; charset=utf-8');
  assert.is(response.body, JSON.stringify(entries));
});

lists('of usage are an empty array without entries', async ({ app }) => {
  await app.db().deleteFrom('usage_entries').where('app_id', '=', FLEET).execute();
  assert.is((await read(app, 'application/json', `/jb/apps/${FLEET}/usage/`)).body, '[]');
  assert.is((await read(app, 'text/csv', `/jb/apps/${FLEET}/usage/`)).body.split('\r\n').length, 2);
});

lists('of usage escape formulas in CSV', async ({ app }) => {
  const evil = { ...logEntry(0), fullName: '=HYPERLINK("http://x.test")', actionDescription: 'a,b\r\n"c"' };
  await writeUsage(
    app.orm.em.fork(),
    SALES,
    [{ ...evil, occurredAt: new Date(NOON.getTime() + 1000) }],
    NOON,
  );
  const response = await read(app, 'text/csv');
  const [header, first = '', second = ''] = response.body.split('\r\n');

  assert.is(response.headers['content-type'], 'text/csv; charset=utf-8');
  assert.is(header, 'action_description,email,full_name,timestamp,action,extra');
  assert.is(first, '"a,b');
  const rest = `""c""",w@x.test,"'=HYPERLINK(""http://x.test"")",2026-11-21T12:00:01.000Z,STACK_ACCESS,{}`;
  assert.is(second, rest);
});

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
