import { decodeProtectedHeader } from 'jose';
import * as assert from 'uvu/assert';
import { DAY_MS, HOUR_MS } from '../../src/lib/clock.ts';
import { EVERYWHERE } from '../../src/services/access/scope.ts';
import { createAudit, NO_ORIGIN } from '../../src/services/audit/audit.ts';
import { createSigningKeys } from '../../src/services/gate/signing-keys.ts';
import { isActive, ticketOf, userId } from '../support/access-views.ts';
import { rowsOf } from '../support/rows.ts';
import { appSuite, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const keys = appSuite('signing keys', { TOKEN_IDLE_DAYS: '0' });

const statesOf = async (app: TestApp) =>
  (await app.as(ROOT).signingKeys.list()).keys.map(({ state }) => state);
const publishedBy = async (app: Pick<TestApp, 'server'>): Promise<string[]> => {
  const { keys: published } = (await app.server.inject('/.well-known/jwks.json')).json();
  return published.map(({ kid }: { kid: string }) => kid);
};
const kidOf = async (app: TestApp): Promise<string> =>
  String(decodeProtectedHeader(await ticketOf(app, GRACE)).kid);
const maintain = (app: TestApp) => app.signingKeys.maintain(createAudit(NO_ORIGIN, app.clock));

keys('are created once by instances that start at the same time', async ({ app }) => {
  const twins = await Promise.all([app.startTwin(), app.startTwin(), app.startTwin()]);
  try {
    assert.equal(await rowsOf(app, 'signing_keys'), []);
    const published = await Promise.all([app, ...twins].map(publishedBy));

    assert.is((await rowsOf(app, 'signing_keys')).length, 1);
    assert.is(new Set(published.flat()).size, 1);
    assert.equal(await statesOf(app), ['signing']);
  } finally {
    await Promise.all(twins.map((twin) => twin.close()));
  }
});

keys('are stored encrypted, and have public keys only in what is published', async ({ app }) => {
  const [row] = await rowsOf(app, 'signing_keys');
  const stored = Buffer.from(row?.sealed_key ?? []).toString('latin1');

  assert.equal(Object.keys(row?.public_key ?? {}).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  assert.not.match(stored, /"d"|kty/);
  for (const key of (await app.server.inject('/.well-known/jwks.json')).json().keys) {
    assert.equal([key.kty, key.crv, key.alg, key.use], ['EC', 'P-256', 'ES256', 'sig']);
    assert.not.ok('d' in key);
  }
});

keys('are published by every instance before one signs with them', async ({ app }) => {
  const twin = await app.startTwin();
  const issueAt = async ({ openServices }: Pick<TestApp, 'openServices'>) =>
    (await openServices().tickets.issueTicket(await subject(app))).ticket;
  try {
    const [old = ''] = await publishedBy(twin);
    const ticket = await ticketOf(app, GRACE);
    const { kid, state, signs_from } = await app.as(ROOT).signingKeys.rotate();
    assert.is(state, 'pending');
    assert.is(signs_from.getTime() - app.clock.now().getTime(), 330_000);

    app.clock.advance(30_000);
    assert.equal(await publishedBy(twin), [kid, old]);
    for (const instance of [app, twin]) assert.is(decodeProtectedHeader(await issueAt(instance)).kid, old);
    app.clock.advance(299_999);
    assert.is(await kidOf(app), old);
    app.clock.advance(1);
    for (const instance of [app, twin]) {
      const issued = await issueAt(instance);
      assert.is(decodeProtectedHeader(issued).kid, kid);
      assert.ok(await isActive(app, issued));
    }
    assert.not.ok(await isActive(app, ticket), 'it has expired');
    assert.equal(await statesOf(app), ['signing', 'retiring']);
    app.clock.advance(390_000);
    assert.equal(await publishedBy(twin), [kid, old]);
    app.clock.advance(1);
    assert.equal([await publishedBy(twin), await publishedBy(app)], [[kid], [kid]]);
    assert.equal(await statesOf(app), ['signing', 'retired']);
    await maintain(app);
    assert.equal(await statesOf(app), ['signing']);
  } finally {
    await twin.close();
  }
});

const subject = async (app: TestApp) => {
  const id = await userId(app, GRACE);
  return { kind: 'user', scope: EVERYWHERE, userId: id, appId: 'zylTKNVx' } as const;
};

keys('are replaced once by several rotations at the same time', async ({ app }) => {
  app.clock.advance(HOUR_MS);
  await maintain(app);
  const rotated = await Promise.all(Array.from({ length: 8 }, () => app.as(ROOT).signingKeys.rotate()));

  assert.is(new Set(rotated.map(({ kid }) => kid)).size, 1);
  const entries = await app.as(ROOT).audit.list({ action: 'signing-key.rotate' });
  assert.equal([entries[0]?.actor, entries[0]?.target], [ROOT, rotated[0]?.kid]);
  assert.is(entries.filter(({ target }) => target === rotated[0]?.kid).length, 1);
});

keys('are replaced by age', async ({ app }) => {
  app.clock.advance(HOUR_MS);
  await maintain(app);
  const before = await kidOf(app);

  app.clock.advance(89 * DAY_MS);
  await maintain(app);
  assert.equal(await statesOf(app), ['signing']);
  app.clock.advance(DAY_MS);
  await Promise.all([maintain(app), maintain(app)]);
  assert.equal(await statesOf(app), ['pending', 'signing']);
  app.clock.advance(HOUR_MS);
  await maintain(app);
  assert.is.not(await kidOf(app), before);
});

keys.run();

const changedSecret = appSuite('signing keys after a change of SECRET_KEY');

changedSecret('are named in one line each, and replaced', async ({ app }) => {
  const before = await kidOf(app);
  app.clock.advance(1000);
  const lines: string[] = [];
  const { ticket: other } = createSigningKeys({
    em: app.orm.em.fork(),
    secretKey: 'another secret key that only tests use',
    clock: app.clock,
    logger: { warn: (line) => lines.push(line) },
    signingKeyDays: 90,
  });

  await other.publishedKeys();
  const { keys: published } = await other.publishedKeys();
  const states = (await other.list(app.orm.em.fork())).map(({ state }) => state);

  assert.equal(lines, [
    `The signing key ${before} cannot be opened: it was created with another SECRET_KEY.`,
  ]);
  assert.equal(states, ['signing', 'unreadable']);
  assert.equal([published.length, published[1]?.kid], [2, before], 'tickets of before stay valid');
});

changedSecret.run();

const jwks = appSuite('/.well-known/jwks.json');

jwks('can be cached for five minutes, and by its ETag', async ({ app }) => {
  const first = await app.server.inject('/.well-known/jwks.json');
  const headers = { 'if-none-match': String(first.headers.etag) };
  const second = await app.server.inject({ url: '/.well-known/jwks.json', headers });

  assert.is(first.headers['cache-control'], 'public, max-age=300');
  assert.is(first.headers['access-control-allow-origin'], '*');
  assert.is(first.headers['content-type'], 'application/json; charset=utf-8');
  assert.equal([second.statusCode, second.body], [304, '']);
  await app.as(ROOT).signingKeys.rotate();
  assert.is((await app.server.inject({ url: '/.well-known/jwks.json', headers })).statusCode, 200);
  assert.is((await app.server.inject({ url: '/.well-known/jwks.json', method: 'POST' })).statusCode, 405);
});

jwks.run();
