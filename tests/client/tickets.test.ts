import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import * as assert from 'uvu/assert';
import { TicketError, type TicketErrorCode, verifyTicket } from '../../src/client/tickets.ts';
import { EVERYWHERE } from '../../src/services/access/scope.ts';
import { claimsIn, resign, ticketOf, userId } from '../support/access-views.ts';
import { failureOf } from '../support/rejects.ts';
import { ACME, appSuite, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const ISSUER = 'http://localhost:8000';
const MINUTE_SECONDS = 60;

const verification = appSuite('verifyTicket');

/** Serves the keys of the app at an address that only this test uses, so that no other test has cached them. */
const serveKeys = async (app: TestApp) => {
  let fetches = 0;
  let isDown = false;
  const server = createServer((_request, response) => {
    fetches += 1;
    if (isDown) return void response.writeHead(503).end();
    void app.server.inject('/.well-known/jwks.json').then(({ body }) => response.end(body));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    jwksUrl: `http://127.0.0.1:${address.port}/keys`,
    fetches: () => fetches,
    breakDown: () => {
      isDown = true;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
};

type Served = Awaited<ReturnType<typeof serveKeys>>;

/** @param shiftSeconds how far the clock of the verifier is ahead */
const verify = (app: TestApp, { jwksUrl }: Pick<Served, 'jwksUrl'>, ticket: string, shiftSeconds = 0) => {
  const now = new Date(app.clock.now().getTime() + shiftSeconds * 1000);
  return verifyTicket(ticket, { issuer: ISSUER, app: 'sales', jwksUrl, now });
};

const refusedAs = async (verified: Promise<unknown>, code: TicketErrorCode, what = code as string) => {
  const [outcome] = await Promise.allSettled([verified]);
  if (outcome.status === 'fulfilled') assert.unreachable(`accepted: ${what}`);
  else if (outcome.reason instanceof TicketError) assert.is(outcome.reason.code, code, what);
  else throw outcome.reason;
};

verification('keeps every digit of the integers in data permissions', async ({ app }) => {
  await using served = await serveKeys(app);
  const extra = { tenant: 1546130668394913822n };
  await app.as(ACME).users.update({ email: GRACE, extra });

  const claims = await verify(app, served, await ticketOf(app, GRACE));

  assert.equal(claims.data_permissions, extra);
  await app.as(ACME).users.update({ email: GRACE, extra: {} });
});

verification('returns the claims, and fetches the keys once', async ({ app }) => {
  await using served = await serveKeys(app);
  const ticket = await ticketOf(app, GRACE);

  const all = await Promise.all(Array.from({ length: 20 }, () => verify(app, served, ticket)));

  for (const claims of all) assert.equal(claims, { ...claimsIn(ticket), actor: null, readOnly: false });
  assert.is(served.fetches(), 1);
});

verification(
  'says who looks at the app as the person, also if an older service does not state it',
  async ({ app }) => {
    await using served = await serveKeys(app);
    const ticket = await ticketOf(app, GRACE);
    const act = { sub: '@root', email: ROOT };
    const looked = await verify(app, served, await resign(app, ticket, { act, read_only: true }));
    const old = await verify(
      app,
      served,
      await resign(app, ticket, { act: undefined, read_only: undefined }),
    );

    assert.equal([looked.actor, looked.readOnly], [act, true]);
    assert.equal([old.actor, old.readOnly], [null, false]);
  },
);

verification('refuses tickets for other apps and of other issuers', async ({ app }) => {
  await using served = await serveKeys(app);
  const ticket = await ticketOf(app, GRACE);
  const expected = { issuer: ISSUER, app: 'sales', jwksUrl: served.jwksUrl, now: app.clock.now() };

  await refusedAs(verifyTicket(ticket, { ...expected, app: 'churn' }), 'wrong-app');
  await refusedAs(verifyTicket(ticket, { ...expected, issuer: 'https://other.test' }), 'wrong-issuer');
});

verification('requires the issuer and the app, or it would accept tickets for all', async ({ app }) => {
  const ticket = await ticketOf(app, GRACE);
  for (const [issuer, slug] of [
    [ISSUER, ''],
    ['', 'sales'],
  ] as const)
    assert.instance(await failureOf(verifyTicket(ticket, { issuer, app: slug })), TypeError);
});

verification('refuses forgeries', async ({ app }) => {
  await using served = await serveKeys(app);
  const ticket = await ticketOf(app, GRACE);
  const claims = { ...claimsIn(ticket) };
  const { keys } = await app.signingKeys.ticket.publishedKeys();
  const [publicKey] = keys;
  const kid = String(publicKey?.kid);
  const { privateKey, publicKey: other } = await generateKeyPair('ES256', { extractable: true });
  const headerKey = { alg: 'ES256', jwk: await exportJWK(other) };
  const withPublicKey = new TextEncoder().encode(JSON.stringify(publicKey));
  const sign = (header: { alg: string; kid?: string; jwk?: object }, key: typeof privateKey | Uint8Array) =>
    new SignJWT(claims).setProtectedHeader(header as { alg: string }).sign(key);

  const forged: [TicketErrorCode, string, string][] = [
    ['wrong-algorithm', 'alg none', new UnsecuredJWT(claims).encode()],
    ['wrong-algorithm', 'HS256 over the public key', await sign({ alg: 'HS256', kid }, withPublicKey)],
    ['invalid-signature', 'another key', await sign({ alg: 'ES256', kid }, privateKey)],
    ['unknown-key', 'an unknown kid', await sign({ alg: 'ES256', kid: 'unknown' }, privateKey)],
    ['invalid-signature', 'a key in the header', await sign(headerKey, privateKey)],
    ['malformed', 'no ticket', 'x'],
    ['malformed', 'nothing', ''],
  ];
  for (const [code, what, token] of forged) await refusedAs(verify(app, served, token), code, what);
});

verification('requires every claim', async ({ app }) => {
  await using served = await serveKeys(app);
  const ticket = await ticketOf(app, GRACE);

  for (const claim of ['data_permissions', 'sub', 'exp', 'iat', 'jti', 'roles', 'aud', 'iss']) {
    const without = await resign(app, ticket, { [claim]: undefined });
    await refusedAs(verify(app, served, without), 'missing-claim', claim);
  }
});

verification('ends with the ticket, with a tolerance of 30 seconds', async ({ app }) => {
  await using served = await serveKeys(app);
  const ticket = await ticketOf(app, GRACE);

  for (const seconds of [-30, 149]) await verify(app, served, ticket, seconds);
  for (const [seconds, code] of [
    [-5 * MINUTE_SECONDS, 'not-yet-valid'],
    [-31, 'not-yet-valid'],
    [150, 'expired'],
  ] as const)
    await refusedAs(verify(app, served, ticket, seconds), code);
  const now = new Date(app.clock.now().getTime() + 149_000);
  const exact = { issuer: ISSUER, app: 'sales', jwksUrl: served.jwksUrl, now, clockToleranceSeconds: 0 };
  await refusedAs(verifyTicket(ticket, exact), 'expired');
});

verification('refuses tickets that live too long', async ({ app }) => {
  await using served = await serveKeys(app);
  const ticket = await ticketOf(app, GRACE);
  const long = await resign(app, ticket, { exp: claimsIn(ticket).iat + 3600 });

  await refusedAs(verify(app, served, long, 331), 'expired');
});

verification('uses the cached keys while they cannot be fetched', async ({ app }) => {
  await using served = await serveKeys(app);
  const ticket = await ticketOf(app, GRACE);
  await verify(app, served, ticket);
  served.breakDown();
  const realNow = Date.now;
  try {
    // The cache compares with the clock of the machine.
    Date.now = () => realNow() + 10 * MINUTE_SECONDS * 1000;
    for (let count = 0; count < 5; count += 1) await verify(app, served, ticket);
    assert.is(served.fetches(), 2, 'one try in 30 seconds');
  } finally {
    Date.now = realNow;
  }
});

verification('says that the keys are unavailable if none is cached', async ({ app }) => {
  await using served = await serveKeys(app);
  served.breakDown();

  await refusedAs(verify(app, served, await ticketOf(app, GRACE)), 'keys-unavailable');
});

verification('finds the keys before, during and after a rotation of two instances', async ({ app }) => {
  await using served = await serveKeys(app);
  const twin = await app.startTwin();
  try {
    const id = await userId(app, GRACE);
    const issue = ({ openServices }: Pick<TestApp, 'openServices'>) =>
      openServices().tickets.issueTicket({
        kind: 'user',
        scope: EVERYWHERE,
        userId: id,
        appId: 'zylTKNVx',
      });
    await verify(app, served, (await issue(twin)).ticket);
    await app.as(ROOT).signingKeys.rotate();

    const kids = new Set<string>();
    const realNow = Date.now;
    try {
      for (let second = 0; second <= 480; second += 15) {
        Date.now = () => realNow() + second * 1000;
        for (const instance of [app, twin]) {
          const { ticket } = await issue(instance);
          const [header = ''] = ticket.split('.');
          kids.add(header);
          await verify(app, served, ticket);
        }
        app.clock.advance(15_000);
      }
    } finally {
      Date.now = realNow;
    }
    assert.is(kids.size, 2);
    assert.is(served.fetches(), 2, 'the cache of five minutes needs no other fetch');
  } finally {
    await twin.close();
  }
});

verification.run();
