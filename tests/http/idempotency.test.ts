import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import {
  CLIENT_ROLES,
  GLOBAL_ROLES,
  MEMBER,
  namedRoles,
  type Roles,
} from '../../src/services/access/permissions.ts';
import { EVERYWHERE } from '../../src/services/access/scope.ts';
import { pruneResponses } from '../../src/services/pruning.ts';
import { createScript } from '../support/http-clients.ts';
import { rejectsWith } from '../support/rejects.ts';
import { nextCode } from '../support/second-factors.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  GLOBEX,
  GRACE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const idempotency = appSuite('Idempotency-Key');

const send = (app: TestApp, key: string, payload: object, as = STAFF) =>
  app.send(`POST /jb/apps/${SALES}/usage/`, { as, payload, headers: { 'idempotency-key': key } });

const report = { email: ADA, action: 'X' };

const countOf = async (app: TestApp): Promise<number> =>
  (await app.db().selectFrom('usage_entries').select('id').where('action', '=', 'X').execute()).length;

idempotency('treats a quoted key as the same key', async ({ app }) => {
  await send(app, 'quoted', report);
  const before = await countOf(app);
  assert.equal((await send(app, '"quoted"', report)).json(), { inserted: 1, duplicates: 0 });
  assert.is(await countOf(app), before);
});

idempotency('refuses a key that was used for a different request', async ({ app }) => {
  await send(app, 'taken', report);
  const response = await send(app, 'taken', { ...report, action: 'Y' });

  assert.is(response.statusCode, 409);
  assert.is(response.json().type, 'urn:steward:problem:idempotency-key-reused');
});

idempotency('separates the keys of callers', async ({ app }) => {
  await send(app, 'shared', report, STAFF);
  const before = await countOf(app);
  await send(app, 'shared', report, ACME);
  assert.is(await countOf(app), before + 1);
});

idempotency('names the header if the key is invalid', async ({ app }) => {
  for (const key of ['', 'two words', 'x'.repeat(256), 'ü', '"']) {
    const response = await send(app, key, report);
    assert.is(response.statusCode, 400, key);
    assert.ok(response.json().errors['Idempotency-Key'], key);
  }
});

idempotency('is refused with a batch of several calls', async ({ app }) => {
  const before = await countOf(app);
  const call = (names: string[], key?: string) =>
    app.send(`POST !/trpc/${names.join(',')}?batch=1`, {
      as: STAFF,
      payload: Object.fromEntries(names.map((_, n) => [n, { json: { app_id: SALES, entries: [report] } }])),
      headers: { 'idempotency-key': key },
    });
  const record = 'usage.record';

  for (const response of (await call([record, record], 'batch')).json()) {
    assert.is(response.error.json.data.problem.code, 'invalid-input');
    assert.ok(response.error.json.data.problem.fields['Idempotency-Key']);
  }
  assert.is(await countOf(app), before);
  assert.is((await call([record], 'batch')).statusCode, 200);
  assert.is((await call([record], 'batch')).statusCode, 200);
  assert.is(await countOf(app), before + 1);
  await call([record, record]);
  assert.is(await countOf(app), before + 3);
});

idempotency('expires after a day', async ({ app }) => {
  await send(app, 'old', report);
  const before = await countOf(app);
  app.clock.advance(DAY_MS);
  await send(app, 'old', report);
  assert.is(await countOf(app), before + 1);

  app.clock.advance(DAY_MS);
  await pruneResponses(app.orm.em.fork(), app.clock.now(), 24);
  assert.equal(await app.db().selectFrom('idempotent_responses').select('key').execute(), []);
});

const AT_ONCE = 10;

const STACK = 'a0a91e46';

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
  (table: 'users' | 'saved_filters' | 'usage_entries') =>
  async (app: TestApp): Promise<number> =>
    (await app.db().selectFrom(table).select('id').execute()).length;

const CASES: Record<string, Case> = {
  'one user': {
    line: 'POST /jb/users/',
    as: ACME,
    body: { email: 'once@acme.test', extra: { deep: [{ $: 1 }] } },
    status: 200,
    count: countIn('users'),
  },
  'one saved filter': {
    line: 'POST /hashr/saved_global_filters/',
    as: ADA,
    body: { stack_id: STACK, hash: 'once', name: 'Once' },
    status: 201,
    count: countIn('saved_filters'),
    csrf: true,
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
  idempotency(
    `${AT_ONCE} simultaneous requests create ${what}, on two instances, and get equal responses`,
    async ({ app }) => {
      await app.tokenOf(as);
      const headers = {
        ...(csrf && (await csrfHeaders(app, as))),
        'idempotency-key': what.replaceAll(' ', '-'),
      };
      const before = await count(app);
      const twin = await app.startTwin();
      const [method, path] = line.split(' ') as ['POST', string];
      const authorization = `Token ${await app.tokenOf(as)}`;
      const request = { method, url: `/api/v1${path}`, payload: body as object };
      const send = (_: unknown, index: number) =>
        (index % 2 === 0 ? app : twin).server.inject({ ...request, headers: { ...headers, authorization } });
      const responses = await Promise.all(Array.from({ length: AT_ONCE }, send)).finally(() => twin.close());

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
      assert.is(await count(app), before + 1);
    },
  );
}

idempotency(
  'simultaneous repeats change a password once and keep the session that the first one created',
  async ({ app }) => {
    const payload = { password: 'steward-demo-1', new_password: 'violet-harbor-92-kite' };
    const headers = { 'idempotency-key': 'password' };
    const send = () => app.send('POST /password/change/', { as: ADA, payload, headers });
    const responses = await Promise.all(Array.from({ length: AT_ONCE }, send));

    assert.equal([...new Set(responses.map(({ statusCode }) => statusCode))], [204]);
    const changes = app.db().selectFrom('audit_entries').select('id').where('action', '=', 'password.change');
    assert.is((await changes.execute()).length, 1);
  },
);

idempotency(
  'simultaneous requests do not affect another key, another user or a later request',
  async ({ app }) => {
    const make = (name: string, key: string) =>
      app.send('POST /jb/tokens/', { as: STAFF, payload: { name }, headers: { 'idempotency-key': key } });
    const names = Array.from({ length: AT_ONCE }, (_, n) => `t${n}`);
    const responses = await Promise.all(names.map((name) => make(name, name)));

    // Besides their claims, they all lock the row of one user.
    assert.equal([...new Set(responses.map(({ statusCode }) => statusCode))], [201]);
    assert.is(new Set(responses.map((response) => response.json().token)).size, AT_ONCE);
  },
);

const post = (app: TestApp, path: string, as: string, key: string, payload: object) =>
  app.send(`POST ${path}`, { as, payload, headers: { 'idempotency-key': key } });

/** A tRPC call; `json` and `meta` are those of superjson. */
const call = (app: TestApp, name: string, as: string, key: string, json: object) =>
  app.send(`POST !/trpc/${name}`, { as, payload: { json }, headers: { 'idempotency-key': key } });

idempotency(
  'stored responses are encrypted in the database, with a keyed digest of the request',
  async ({ app }) => {
    const made = (await post(app, '/jb/tokens/', ADA, 'sealed', { name: 'secret name' })).json();
    const rows = await app.db().selectFrom('idempotent_responses').selectAll().execute();
    const bytes = Buffer.concat(rows.map(({ response }) => response ?? Buffer.alloc(0)));

    assert.ok(bytes.length > 0);
    assert.not.ok(bytes.includes(made.token) || bytes.includes('secret name'));
    assert.not.ok(JSON.stringify(rows).includes(made.token));
  },
);

idempotency('stored responses are the same over REST and tRPC, with dates as Date', async ({ app }) => {
  const extra = JSON.parse('{"a":1,"__proto__":{"b":[2]},"at":"2026-01-01"}');
  const rest = await post(app, '/jb/users/', ACME, 'both', { email: 'both@acme.test', extra });
  const rpc = await call(app, 'users.create', ACME, 'both', { extra, email: 'both@acme.test' });
  const again = await post(app, '/jb/users/', ACME, 'both', { email: 'both@acme.test', extra });

  assert.is(rest.statusCode, 200, rest.body);
  assert.is(rpc.statusCode, 200, rpc.body);
  assert.is(rpc.headers['idempotency-replayed'], 'true');
  const { json, meta } = rpc.json().result.data;
  assert.equal(JSON.stringify(json), rest.body);
  assert.equal(meta.values.date_joined, ['Date']);
  assert.is(again.body, rest.body);
  assert.is(again.headers['idempotency-replayed'], 'true');
  assert.is(rest.headers['idempotency-replayed'], undefined);
});

idempotency(
  'stored responses are not stored for failures: the work is rolled back and the key stays free',
  async ({ app }) => {
    const bad = [
      { email: 'fine@x.test', client: 1 },
      { email: 'bad', client: 1 },
    ];
    assert.is((await post(app, '/jb/users/invitations/', ACME, 'failed', bad)).statusCode, 400);
    const taken = await post(app, '/jb/users/', ACME, 'failed', { email: ADA });
    assert.is(taken.statusCode, 400, taken.body);
    assert.is((await post(app, '/jb/users/', ACME, 'failed', { email: 'free@acme.test' })).statusCode, 200);
  },
);

idempotency('stored responses are not stored for public paths, which ignore the key', async ({ app }) => {
  const login = () =>
    post(app, '/api-token-auth/', '', 'login', { username: ROOT, password: 'steward-demo-1' });
  const [first, second] = [await login(), await login()];
  assert.is(first.statusCode, 200, first.body);
  assert.is.not(first.json().token, second.json().token);
});

idempotency('stored responses are replayed over a streamed call', async ({ app }) => {
  const payload = { 0: { json: { name: 'streamed' } } };
  const headers = { 'idempotency-key': 'streamed', 'trpc-accept': 'application/jsonl' };
  const send = () => app.send('POST !/trpc/tokens.createNamed?batch=1', { as: ADA, payload, headers });
  const tokenIn = (body: string) => /"token":"(stw_[A-Za-z0-9]{36})"/.exec(body)?.[1];
  const [first, repeat] = [await send(), await send()];

  assert.ok(tokenIn(first.body), first.body);
  assert.is(tokenIn(repeat.body), tokenIn(first.body));
});

idempotency('stored responses are not stored if they have secrets of second factors', async ({ app }) => {
  const browser = createScript(app);
  await browser.logIn(GRACE, DEMO_PASSWORD);
  const twice = async (line: string, payload?: object) => {
    const request = {
      ...(payload && { payload }),
      headers: { 'idempotency-key': `secret ${line}`.replaceAll(' ', '-') },
    };
    const first = await browser.send(line, request);
    assert.is(first.statusCode, 200, first.body);
    const repeat = await browser.send(line, request);
    assert.is(repeat.json().type, 'urn:steward:problem:idempotency-key-reused');
    assert.match(repeat.json().detail, 'already carried out');
    return first.json();
  };

  const { secret } = await twice('POST /mfa/totp/');
  await twice('POST /mfa/totp/confirm/', { code: nextCode(app, secret) });
  const { recovery_codes } = await twice('POST /mfa/recovery-codes/');
  const stored = await app
    .db()
    .selectFrom('idempotent_responses')
    .select(sql<number>`length(response)`.as('bytes'))
    .where('key', 'like', 'secret-%')
    .execute();

  assert.is(recovery_codes.length, 10);
  assert.is(stored.length, 3);
  for (const { bytes } of stored) assert.ok(bytes < 64, `${bytes} bytes are an empty text, encrypted`);
});

const setAdmin = (app: TestApp, email: string, id: number, isAdmin: boolean) =>
  app.as(ROOT).roles.setClientAdmin({ id, email, is_admin: isAdmin });

/** Sends a request, changes the roles of the caller, repeats the request, and returns both responses. */
const around = async (
  app: TestApp,
  { line, as, payload }: { line: string; as: string; payload: object },
  change: () => Promise<unknown>,
) => {
  const headers = { 'idempotency-key': `${line} ${as}`.replaceAll(/[^a-z0-9]/gi, '-') };
  const send = () => app.send(line, { as, payload, headers });
  const first = await send();
  await change();
  return { first, repeat: await send() };
};

const refuses = ({ first, repeat }: Awaited<ReturnType<typeof around>>, status: number) => {
  assert.ok(first.statusCode < 300, first.body);
  assert.is(repeat.statusCode, status, repeat.body);
  assert.is(repeat.headers['idempotency-replayed'], undefined);
};

const bulk = (client: number) => ({
  line: 'POST /jb/users/invitations/',
  as: GRACE,
  payload: [{ email: 'one@x.test', client, extra: { secret: 1 } }],
});

idempotency('does not replay a bulk to an admin who has changed to another client', async ({ app }) => {
  await setAdmin(app, GRACE, 2, true);
  const swap = async () => {
    await setAdmin(app, GRACE, 1, true);
    await setAdmin(app, GRACE, 2, false);
  };
  const answers = await around(app, bulk(2), swap);

  refuses(answers, 403);
  assert.is(
    answers.repeat.json().detail,
    'You have lost a role since this Idempotency-Key was used, so its response is no longer available to you.',
  );
  await setAdmin(app, GRACE, 2, true);
  const again = await around(app, bulk(2), async () => {});
  assert.is(again.first.body, answers.first.body, 'it is returned again with the role');
  await setAdmin(app, GRACE, 2, false);
});

idempotency('replays to a user who has gained a role', async ({ app }) => {
  const gain = () => setAdmin(app, GRACE, 2, true);
  const { first, repeat } = await around(
    app,
    { ...bulk(1), line: 'POST /jb/users/invitations/?dry_run=false' },
    gain,
  );

  assert.is(repeat.body, first.body);
  assert.is(repeat.headers['idempotency-replayed'], 'true');
  await setAdmin(app, GRACE, 2, false);
  await setAdmin(app, GRACE, 1, false);
});

idempotency(
  'does not replay to a user who has lost any role that shows more than the audit trail',
  async ({ app }) => {
    const { idempotency } = app.openServices();
    const member = { ...MEMBER, id: 1, email: ACME, credential: null, scope: EVERYWHERE };
    const all: Roles[] = [
      ...GLOBAL_ROLES.map(({ flag }) => ({ ...MEMBER, [flag]: true })),
      ...CLIENT_ROLES.map(({ name }) => namedRoles([name], 1)),
    ];
    for (const [index, roles] of all.entries()) {
      const idempotencyKey = { key: `role-${index}`, onReplay: () => {} };
      const request = { actor: member, idempotencyKey, operation: 'test', input: '' };
      const answer = async () => 'shown to the role';
      await idempotency.runOnce({ ...request, actor: { ...member, ...roles } }, (write) => write(answer));

      await rejectsWith(
        idempotency.runOnce(request, (write) => write(answer)),
        'forbidden',
      );
    }
  },
);

idempotency('replays nothing to a deactivated user', async ({ app }) => {
  const create = { line: 'POST /jb/users/', as: GLOBEX, payload: { email: 'last@globex.test' } };
  refuses(await around(app, create, () => app.as(ROOT).users.deactivate({ email: GLOBEX })), 401);
});

idempotency.run();
