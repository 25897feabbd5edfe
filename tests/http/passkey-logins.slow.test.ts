import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { createScript } from '../support/http-clients.ts';
import { countSessions, givePassword } from '../support/logins.ts';
import {
  type Authenticator,
  challengedByPasskey,
  createAuthenticator,
  enrollPasskey,
  requested,
} from '../support/passkeys.ts';
import { setRows, valuesOf } from '../support/rows.ts';
import { enroll, forgetAttempts, nextCode, problemIn } from '../support/second-factors.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GRACE,
  ROOT,
  type TestApp,
} from '../support/test-app.ts';

const logins = appSuite('login with a passkey');
const COOKIE = 'steward_passkey';
const SESSION = 'steward_session';
let ada: Authenticator;
let grace: Authenticator;

logins.before(async ({ app }) => {
  ada = (await enrollPasskey(app, ADA, 'Laptop')).authenticator;
  grace = (await enrollPasskey(app, GRACE)).authenticator;
});

logins.before.each(async ({ app }) => {
  await forgetAttempts(app);
});

/** A new person with a passkey. */
const addOwner = async (app: TestApp, name: string) => {
  const { email } = await app.as(ROOT).users.create({ email: `${name}@acme.test`, client: 1 });
  return { email, ...(await enrollPasskey(app, email)) };
};

/** Logs in with a passkey alone. */
const logIn = async (app: TestApp, key: Authenticator, faults: Parameters<Authenticator['get']>[1] = {}) => {
  const { options, answer } = await requested(app);
  return answer(key.get(options, faults));
};

type Refusal = { statusCode: number; json: () => Record<string, unknown> };

/** What a refusal says, without the id of its request. */
const refusalIn = (response: Refusal): Record<string, unknown> => {
  const { instance: _, ...document } = response.json();
  return { status: response.statusCode, ...document };
};

const latestActions = async (app: TestApp, target: string, limit = 2): Promise<string[]> =>
  (await app.as(ROOT).audit.list({ target, limit })).map(({ action }) => action);

logins('needs no password', async ({ app }) => {
  const { browser, options, answer } = await requested(app);

  assert.equal(options, {
    ...options,
    rpId: 'localhost',
    allowCredentials: [],
    userVerification: 'required',
    timeout: 5 * MINUTE_MS,
  });
  assert.ok(browser.cookies.has(COOKIE));
  const response = await answer(ada.get(options));

  assert.equal([response.statusCode, response.json().user.email], [200, ADA]);
  assert.is((await browser.send('GET /session/')).json().user.email, ADA);
  assert.not.ok(browser.cookies.has(COOKIE));
  const [entry] = await app.as(ROOT).audit.list({ target: ADA, limit: 1 });
  const [factor] = (await app.as(ADA).mfa.list({})).factors;
  assert.equal([entry?.action, entry?.details], ['login.session', { passkey: factor?.id }]);
  assert.equal(factor?.last_used_at, app.clock.now());
});

logins('follows the password as the second factor', async ({ app }) => {
  const { browser, options, answer } = await challengedByPasskey(app, ADA);
  assert.ok(options);
  assert.equal(options, {
    ...options,
    allowCredentials: [{ type: 'public-key', id: ada.id, transports: ['internal', 'hybrid'] }],
  });
  const response = await answer(ada.get(options, { userHandle: null }));

  assert.equal([response.statusCode, response.json().user.email], [200, ADA]);
  assert.ok(browser.cookies.has(SESSION));
  assert.not.ok(browser.cookies.has(COOKIE) || browser.cookies.has('steward_challenge'));
});

logins('is not requested as the second factor without a password, or without a passkey', async ({ app }) => {
  const payload = { purpose: 'challenge' };
  const without = await createScript(app).send('POST /session/passkey/options/', { payload });
  await enroll(app, EDSGER);
  const { response } = await challengedByPasskey(app, EDSGER);

  assert.is(problemIn(without), 'invalid-challenge');
  const confirmation = { payload: { purpose: 'confirmation' } };
  const anonymous = await createScript(app).send('POST /session/passkey/options/', confirmation);
  assert.is(anonymous.statusCode, 401);
  assert.equal([response.statusCode, problemIn(response)], [404, 'not-found']);
});

logins('says in the session what it proves: hardware or software, and two factors', async ({ app }) => {
  const methods = async () => (await valuesOf(app, 'sessions', 'methods')).at(-1);
  await logIn(app, ada);
  assert.equal(await methods(), ['hwk', 'mfa']);
  await logIn(app, ada, { isBackedUp: true });
  assert.equal(await methods(), ['swk', 'mfa']);
  const second = await challengedByPasskey(app, ADA);
  assert.ok(second.options);
  await second.answer(ada.get(second.options));
  assert.equal(await methods(), ['pwd', 'hwk', 'mfa']);
});

logins('is refused with one answer for all reasons', async ({ app }) => {
  const stranger = createAuthenticator();
  const expected = refusalIn(await logIn(app, ada, { origin: 'http://localhost:9000' }));
  assert.is(expected.status, 400);
  type Way = Awaited<ReturnType<typeof requested>>;
  const refusals: Record<string, (way: Way) => ReturnType<Way['answer']>> = {
    'an unknown passkey': ({ options, answer }) =>
      answer(stranger.get(options, { userHandle: 'A'.repeat(43) })),
    'the id of a known passkey, signed by another': ({ options, answer }) =>
      answer(stranger.get(options, { id: ada.id, userHandle: handleOf(ada) })),
    'another challenge': ({ options, answer }) => answer(ada.get({ ...options, challenge: 'A'.repeat(43) })),
    'the challenge of another browser': async ({ answer }) => answer(ada.get((await requested(app)).options)),
    'a challenge for the second step': async ({ browser, answer }) => {
      const other = await challengedByPasskey(app, ADA);
      browser.cookies.set(COOKIE, other.browser.cookies.get(COOKIE) ?? '');
      return answer(ada.get(other.options ?? { rpId: 'localhost', challenge: '' }));
    },
    'no cookie': ({ browser, options, answer }) => {
      browser.cookies.delete(COOKIE);
      return answer(ada.get(options));
    },
    'a cookie that was made up': ({ browser, options, answer }) => {
      browser.cookies.set(COOKIE, `${'a'.repeat(43)}.zzzzzzzz.${'a'.repeat(43)}`);
      return answer(ada.get(options));
    },
    'another site': ({ options, answer }) => answer(ada.get(options, { rpId: 'evil.test' })),
    'a subdomain of the site': ({ options, answer }) =>
      answer(ada.get(options, { origin: 'http://acme.localhost:8000' })),
    'no verification of the user': ({ options, answer }) =>
      answer(ada.get(options, { isUserVerified: false })),
    'the handle of another user': ({ options, answer }) =>
      answer(ada.get(options, { userHandle: handleOf(grace) })),
    'no handle of the user': ({ options, answer }) => answer(ada.get(options, { userHandle: null })),
    'a signature with another ending': ({ options, answer }) => {
      const signed = ada.get(options);
      const signature = Buffer.from(signed.response.signature, 'base64url');
      signature[10] = (signature[10] ?? 0) ^ 1;
      const altered = { ...signed.response, signature: signature.toString('base64url') };
      return answer({ ...signed, response: altered });
    },
  };
  for (const [reason, send] of Object.entries(refusals)) {
    const way = await requested(app);
    assert.equal(refusalIn(await send(way)), expected, reason);
    assert.not.ok(way.browser.cookies.has(SESSION), reason);
    await forgetAttempts(app);
  }
  assert.match(String(expected.type), /invalid-passkey$/);
});

logins('of the second step is refused with the passkey of another user', async ({ app }) => {
  const { options, answer } = await challengedByPasskey(app, ADA);
  assert.ok(options);
  const other = await answer(grace.get(options));

  assert.is(problemIn(other), 'invalid-passkey');
  assert.equal((await latestActions(app, ADA))[0], 'mfa.fail');
});

logins('makes one session of many answers at the same time, also as the second step', async ({ app }) => {
  for (const begin of [() => requested(app), () => challengedByPasskey(app, ADA)]) {
    const before = await countSessions(app, ADA);
    const { options, answer } = await begin();
    assert.ok(options);
    const signed = ada.get(options);
    const answers = await Promise.all(Array.from({ length: 10 }, () => answer(signed)));

    assert.is(answers.filter(({ statusCode }) => statusCode === 200).length, 1);
    assert.is(await countSessions(app, ADA), before + 1);
  }
});

logins('takes a signature once, also with the cookie of its browser', async ({ app }) => {
  const { browser, options, answer } = await requested(app);
  const cookie = browser.cookies.get(COOKIE) ?? '';
  const signed = ada.get(options);
  await answer(signed);
  browser.cookies.set(COOKIE, cookie);
  assert.is(problemIn(await answer(signed)), 'invalid-passkey');
  // Neither a new signature, nor a change of the password or the end of all sessions, opens the challenge again.
  await app.as(ROOT).sessions.revokeAll({ email: ADA });
  await app.renewToken(ADA);
  browser.cookies.delete(SESSION);
  browser.cookies.set(COOKIE, cookie);

  assert.is(problemIn(await answer(ada.get(options))), 'invalid-passkey');
});

logins('has to be answered within five minutes', async ({ app }) => {
  const { options, answer } = await requested(app);
  app.clock.advance(5 * MINUTE_MS);

  assert.is(problemIn(await answer(ada.get(options))), 'invalid-passkey');
});

logins('shares one challenge between the tabs of a browser, for half of its time', async ({ app }) => {
  const { browser, options, answer } = await requested(app);
  const request = async () => (await browser.send('POST /session/passkey/options/')).json();
  app.clock.advance(2 * MINUTE_MS);
  const second = await request();
  app.clock.advance(MINUTE_MS);
  const third = await request();

  assert.is(second.challenge, options.challenge);
  assert.is(second.timeout, 3 * MINUTE_MS);
  assert.is.not(third.challenge, options.challenge);
  assert.is((await answer(ada.get(third))).statusCode, 200);
});

logins('is refused if the count of signatures has not grown', async ({ app }) => {
  const { authenticator } = await addOwner(app, 'copied');
  assert.is((await logIn(app, authenticator, { signCount: 7 })).statusCode, 200);
  for (const signCount of [7, 6, 0])
    assert.is(problemIn(await logIn(app, authenticator, { signCount })), 'invalid-passkey');
  assert.is((await logIn(app, authenticator, { signCount: 8 })).statusCode, 200);
});

logins('takes passkeys that do not count, such as synchronized ones', async ({ app }) => {
  const { authenticator } = await addOwner(app, 'synchronized');
  for (const signCount of [0, 0]) assert.is((await logIn(app, authenticator, { signCount })).statusCode, 200);
});

logins('is refused to inactive users and with removed passkeys, as if unknown', async ({ app }) => {
  const { email, authenticator, factor } = await addOwner(app, 'leaves');
  const unknown = refusalIn(await logIn(app, createAuthenticator(), { userHandle: 'x' }));
  await app.as(ACME).users.deactivate({ email });
  const inactive = refusalIn(await logIn(app, authenticator));
  await app.as(ACME).users.bulkUpdate({ emails: [email], action: 'reactivate' });
  assert.is((await logIn(app, authenticator)).statusCode, 200);
  await app.renewToken(email);
  await app.as(email).mfa.remove({ id: factor.id });

  assert.equal([inactive, refusalIn(await logIn(app, authenticator))], [unknown, unknown]);
});

logins('works with an expired password, which it does not need', async ({ app }) => {
  const { email, authenticator } = await addOwner(app, 'expired');
  const last_password_set = new Date(app.clock.now().getTime() - 400 * DAY_MS);
  await setRows(app, 'users', { email }, { last_password_set });
  await app.as(ACME).clients.update({ id: 1, password_expiration_days: 365 });
  const response = await logIn(app, authenticator);
  await app.as(ACME).clients.update({ id: 1, password_expiration_days: 0 });

  assert.is(response.statusCode, 200);
});

logins('bounds the recorded failures of a network, and refuses no right passkey', async ({ app }) => {
  const wrong = () => logIn(app, ada, { isUserVerified: false });
  const recorded = async () => (await app.as(ROOT).audit.list({ target: ADA, action: 'login.fail' })).length;
  assert.is(problemIn(await wrong()), 'invalid-passkey');
  const before = await recorded();
  await sql`update rate_limits set points = 100 where key like '%:passkey:'`.execute(app.db());
  assert.is(problemIn(await wrong()), 'throttled');
  assert.is(await recorded(), before);
  assert.is((await logIn(app, ada)).statusCode, 200, 'a right one is not limited');
});

logins('of the second step may be tried five times', async ({ app }) => {
  const { browser, options, answer } = await challengedByPasskey(app, ADA);
  assert.ok(options);
  const cookie = browser.cookies.get(COOKIE) ?? '';
  const attempt = async (isUserVerified: boolean) => {
    browser.cookies.set(COOKIE, cookie);
    return problemIn(await answer(ada.get(options, { isUserVerified })));
  };
  for (let n = 0; n < 5; n += 1) assert.is(await attempt(false), 'invalid-passkey');

  assert.is(await attempt(true), 'invalid-challenge');
});

logins('confirms a sensitive action, as a code does', async ({ app }) => {
  const { browser, options, answer } = await requested(app);
  await answer(ada.get(options));
  app.clock.advance(16 * MINUTE_MS);
  const create = () => browser.send('POST /jb/tokens/', { payload: { name: 'x' } });
  assert.is(problemIn(await create()), 'reauthentication-required');
  const byPassword = await browser.send('POST /session/confirm/', { payload: { password: DEMO_PASSWORD } });
  assert.is(problemIn(byPassword), 'otp-required');
  const request = async (purpose: string) =>
    (await browser.send('POST /session/passkey/options/', { payload: { purpose } })).json();
  const confirm = (passkey: unknown) =>
    browser.send('POST /session/confirm/', { payload: { passkey: passkey as object } });

  assert.is(problemIn(await confirm(grace.get(await request('confirmation')))), 'invalid-passkey');
  assert.is(problemIn(await confirm(ada.get(await request('login')))), 'invalid-passkey');
  const signed = ada.get(await request('confirmation'));
  assert.is((await confirm(signed)).statusCode, 204);
  assert.is((await create()).statusCode, 201);
  assert.is(problemIn(await confirm(signed)), 'invalid-passkey');
});

logins('leaves codes and recovery codes as they are', async ({ app }) => {
  const { email, codes } = await addOwner(app, 'both');
  await givePassword(app, email);
  const { secret } = await enroll(app, email);
  for (const code of [codes[0], nextCode(app, secret)]) {
    const { browser } = await challengedByPasskey(app, email);
    const payload = { code };
    assert.is((await browser.send('POST /session/otp/', { payload })).statusCode, 200);
  }
  const { browser } = await challengedByPasskey(app, email);
  assert.is(problemIn(await browser.send('POST /session/otp/', { payload: {} })), 'invalid-input');
});

/** The handle of the user, which an authenticator keeps with the key. */
const handleOf = (authenticator: Authenticator): string =>
  authenticator.get({ rpId: 'localhost', challenge: 'x' }).response.userHandle ?? '';

logins.run();
