import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const AT_ONCE = 20;
const STACK = 'a0a91e46';

const once = appSuite('twenty simultaneous requests with one Idempotency-Key');

type Case = {
  line: string;
  as: string;
  body: unknown;
  status: number;
  /** Counts the rows that it creates. */
  count: (app: TestApp) => Promise<number>;
  csrf?: boolean;
};

const countIn =
  (table: 'users' | 'invitations' | 'api_tokens' | 'saved_filters' | 'sites' | 'usage_entries') =>
  async (app: TestApp): Promise<number> =>
    (await app.db().selectFrom(table).select('id').execute()).length;

const guests = Array.from({ length: 50 }, (_, n) => ({ email: `guest${n}@x.test`, client: 1 }));

const CASES: Record<string, Case> = {
  'one user': {
    line: 'POST /jb/users/',
    as: ACME,
    body: { email: 'once@acme.test', extra: { deep: [{ $: 1 }] } },
    status: 200,
    count: countIn('users'),
  },
  'one bulk of invitations': {
    line: 'POST /jb/users/invitations/',
    as: ACME,
    body: guests,
    status: 200,
    count: countIn('invitations'),
  },
  'one token': {
    line: 'POST /jb/tokens/',
    as: ADA,
    body: { name: 'script' },
    status: 201,
    count: countIn('api_tokens'),
  },
  'one saved filter': {
    line: 'POST /hashr/saved_global_filters/',
    as: ADA,
    body: { stack_id: STACK, hash: 'once', name: 'Once' },
    status: 201,
    count: countIn('saved_filters'),
    csrf: true,
  },
  'one site': {
    line: 'POST /jb/sites/',
    as: ROOT,
    body: { domain: 'once.test', name: 'Once' },
    status: 201,
    count: countIn('sites'),
  },
  'one entry of usage': {
    line: `POST /jb/apps/${SALES}/usage/`,
    as: STAFF,
    body: { email: ADA, action: 'X' },
    status: 201,
    count: countIn('usage_entries'),
  },
};

/** The CSRF headers that a POST to saved filters needs. */
const csrfHeaders = async (app: TestApp, as: string) => {
  const response = await app.send('GET /hashr/saved_global_filters/', { as });
  const token = response.cookies.find(({ name }) => name === 'csrftoken')?.value ?? '';
  return { cookie: `csrftoken=${token}`, 'x-csrftoken': token };
};

for (const [what, { line, as, body, status, count, csrf }] of Object.entries(CASES)) {
  once(`create ${what} and get equal responses`, async ({ app }) => {
    await app.tokenOf(as);
    const headers = {
      ...(csrf && (await csrfHeaders(app, as))),
      'idempotency-key': what.replaceAll(' ', '-'),
    };
    const before = await count(app);
    const send = () => app.send(line, { as, payload: body as object, headers });
    const responses = await Promise.all(Array.from({ length: AT_ONCE }, send));

    assert.equal(
      responses.map(({ statusCode }) => statusCode),
      responses.map(() => status),
      responses[0]?.body,
    );
    assert.is(new Set(responses.map((response) => response.body)).size, 1);
    assert.is(
      responses.filter((response) => response.headers['idempotency-replayed'] === 'true').length,
      AT_ONCE - 1,
    );
    assert.is(await count(app), before + (what.includes('bulk') ? guests.length : 1));
  });
}

once('change a password once and keep the session that the first one created', async ({ app }) => {
  const payload = { password: 'steward-demo-1', new_password: 'violet-harbor-92-kite' };
  const headers = { 'idempotency-key': 'password' };
  const send = () => app.send('POST /password/change/', { as: ADA, payload, headers });
  const responses = await Promise.all(Array.from({ length: AT_ONCE }, send));

  assert.equal([...new Set(responses.map(({ statusCode }) => statusCode))], [204]);
  const changes = app.db().selectFrom('audit_entries').select('id').where('action', '=', 'password.change');
  assert.is((await changes.execute()).length, 1);
});

once('do not affect another key, another user or a later request', async ({ app }) => {
  const make = (name: string, key: string) =>
    app.send('POST /jb/tokens/', { as: STAFF, payload: { name }, headers: { 'idempotency-key': key } });
  const names = Array.from({ length: AT_ONCE }, (_, n) => `t${n}`);
  const responses = await Promise.all(names.map((name) => make(name, name)));

  // Besides their claims, they all lock the row of one user.
  assert.equal([...new Set(responses.map(({ statusCode }) => statusCode))], [201]);
  assert.is(new Set(responses.map((response) => response.json().token)).size, AT_ONCE);
});

once.run();
