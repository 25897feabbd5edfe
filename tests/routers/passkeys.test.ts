import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { createAuthenticator, enrollPasskey } from '../support/passkeys.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowsOf } from '../support/rows.ts';
import { codeAt, enroll, forgetAttempts } from '../support/second-factors.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const passkeys = appSuite('passkeys');

passkeys.before.each(async ({ app }) => {
  await sql`delete from mfa_factors`.execute(app.db());
  await sql`delete from recovery_codes`.execute(app.db());
  await sql`delete from outbox_mails`.execute(app.db());
  await forgetAttempts(app);
});

const logInWith = (app: TestApp, username: string, otp?: string) =>
  app.as(null).tokens.create({ username, password: DEMO_PASSWORD, otp });

const textOf = async (app: TestApp, mail: { id: number } | undefined) =>
  (await app.as(ROOT).mail.get({ id: mail?.id ?? 0 })).text;

const latestActions = async (app: TestApp, target: string, limit: number): Promise<string[]> =>
  (await app.as(ROOT).audit.list({ target, limit })).map(({ action }) => action);

const mailsTo = async (app: TestApp, recipient: string) =>
  app.as(ROOT).mail.list({ recipient, status: 'all' });

passkeys('are requested with a verified user, and for the address of the service', async ({ app }) => {
  const options = await app.as(ADA).mfa.startPasskey({});

  assert.equal(options.rp, { id: 'localhost', name: 'Acme Analytics' });
  assert.equal([options.user.name, options.user.displayName], [ADA, 'Ada Lovelace']);
  assert.equal([options.timeout, options.attestation], [5 * MINUTE_MS, 'none']);
  assert.equal(options.authenticatorSelection, {
    residentKey: 'required',
    requireResidentKey: true,
    userVerification: 'required',
  });
  assert.match(options.challenge, /^[\w-]{43}$/);
  assert.not.match(Buffer.from(options.user.id, 'base64url').toString('latin1'), /ada/i);
});

passkeys('count once they were created, with recovery codes, a mail and an entry', async ({ app }) => {
  await app.as(ADA).mfa.startPasskey({});
  await logInWith(app, ADA);
  assert.equal(await app.as(ADA).mfa.list({}), { factors: [], recovery_codes: 0 });
  const { factor, codes } = await enrollPasskey(app, ADA);

  assert.is(new Set(codes).size, 10);
  const { id: _, ...added } = factor;
  const now = app.clock.now();
  assert.equal(added, { kind: 'passkey', name: 'Unknown browser', confirmed_at: now, last_used_at: null });
  assert.equal(await app.as(ADA).mfa.list({}), { factors: [factor], recovery_codes: 10 });
  await rejectsWith(logInWith(app, ADA), 'otp-required');
  await logInWith(app, ADA, codes[0]);
  const [used, enrolled] = await mailsTo(app, ADA);
  assert.equal([used?.kind, enrolled?.kind], ['recovery-code-used', 'passkey-added']);
  const actions = (await latestActions(app, ADA, 9)).filter((action) => action.startsWith('mfa.'));
  assert.equal(actions, ['mfa.use-recovery-code', 'mfa.enroll']);
});

passkeys('have the name that the person gives, also later', async ({ app }) => {
  const { factor } = await enrollPasskey(app, ADA, 'Laptop');
  const renamed = await app.as(ADA).mfa.rename({ id: factor.id, name: 'Old laptop' });

  assert.equal(renamed, { ...factor, name: 'Old laptop' });
  assert.equal((await app.as(ADA).mfa.list({})).factors, [renamed]);
  assert.is((await latestActions(app, ADA, 1))[0], 'mfa.rename');
  await rejectsWith(app.as(GRACE).mfa.rename({ id: factor.id, name: 'x' }), 'not-found');
  await rejectsWith(app.as(ADA).mfa.rename({ id: factor.id, name: ' ' }), 'invalid-input');
});

passkeys('of one user have one handle, and are excluded from the next request', async ({ app }) => {
  const first = await app.as(ADA).mfa.startPasskey({});
  const { authenticator } = await enrollPasskey(app, ADA);
  const second = await app.as(ADA).mfa.startPasskey({});
  const ofGrace = await app.as(GRACE).mfa.startPasskey({});

  assert.is(second.user.id, first.user.id);
  assert.is.not(ofGrace.user.id, first.user.id);
  assert.equal(second.excludeCredentials, [
    { type: 'public-key', id: authenticator.id, transports: ['internal', 'hybrid'] },
  ]);
});

passkeys('are ten at most', async ({ app }) => {
  for (let n = 0; n < 10; n += 1) await enrollPasskey(app, ADA, `${n}`);
  const { message } = await rejectsWith(app.as(ADA).mfa.startPasskey({}), 'invalid-input');

  assert.match(message, 'You already have 10 passkeys.');
  await app.as(ADA).mfa.startTotp({});
});

passkeys('are refused from another origin, site or challenge, and without verification', async ({ app }) => {
  const attStmt = new Map<string, number | Buffer | Buffer[]>([
    ['alg', -7],
    ['sig', Buffer.alloc(8)],
    ['x5c', [Buffer.from('a certificate')]],
  ]);
  const faults = {
    'another origin': { origin: 'http://localhost:9000' },
    'a subdomain': { origin: 'http://acme.localhost:8000' },
    'another site': { rpId: 'evil.test' },
    'another challenge': { challenge: 'A'.repeat(43) },
    'a signature instead of a creation': { type: 'webauthn.get' },
    'no verification of the user': { isUserVerified: false },
    'another id than that of its key': { id: '' },
    // The certificates of an attestation are not looked at.
    'an attestation': { attestation: { fmt: 'packed', attStmt } },
  };
  for (const [name, fault] of Object.entries(faults)) {
    const options = await app.as(ADA).mfa.startPasskey({});
    const credential = createAuthenticator().create(options, fault);
    const code = name.startsWith('another id') ? 'invalid-input' : 'invalid-passkey';
    await rejectsWith(app.as(ADA).mfa.addPasskey({ credential }), code);
  }
  assert.equal(await app.as(ADA).mfa.list({}), { factors: [], recovery_codes: 0 });
});

passkeys('are added once, to one user', async ({ app }) => {
  const options = await app.as(ADA).mfa.startPasskey({});
  const authenticator = createAuthenticator();
  const credential = authenticator.create(options);
  await app.as(ADA).mfa.addPasskey({ credential });
  await rejectsWith(app.as(ADA).mfa.addPasskey({ credential }), 'not-found');
  const ofGrace = await app.as(GRACE).mfa.startPasskey({});
  const again = authenticator.create(ofGrace);
  await rejectsWith(app.as(GRACE).mfa.addPasskey({ credential: again }), 'invalid-passkey');
  await app.as(GRACE).mfa.startPasskey({});
  await rejectsWith(app.as(GRACE).mfa.addPasskey({ credential }), 'invalid-passkey');
});

passkeys('are added once of many requests at the same time', async ({ app }) => {
  const options = await app.as(ADA).mfa.startPasskey({});
  const credential = createAuthenticator().create(options);
  const outcomes = await Promise.allSettled(
    Array.from({ length: 5 }, () => app.as(ADA).mfa.addPasskey({ credential })),
  );

  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.is((await app.as(ADA).mfa.list({})).factors.length, 1);
});

passkeys('have to be created within five minutes, and for the last start', async ({ app }) => {
  const start = () => app.as(ADA).mfa.startPasskey({});
  const refuse = async (
    options: Awaited<ReturnType<typeof start>>,
    code: 'invalid-passkey' | 'not-found',
  ) => {
    const credential = createAuthenticator().create(options);
    await rejectsWith(app.as(ADA).mfa.addPasskey({ credential }), code);
  };
  const [first, second] = [await start(), await start()];
  await refuse(first, 'invalid-passkey');
  app.clock.advance(5 * MINUTE_MS);
  await refuse(second, 'not-found');
  const third = await start();
  const { secret } = await app.as(ADA).mfa.startTotp({});
  await refuse(third, 'not-found');
  await start();
  await rejectsWith(app.as(ADA).mfa.confirmTotp({ code: codeAt(secret, app.clock.now()) }), 'not-found');
});

passkeys('are removed one by one, and with the last factor the recovery codes', async ({ app }) => {
  const laptop = await enrollPasskey(app, ADA, 'Laptop');
  const key = await enrollPasskey(app, ADA, 'Key');
  await rejectsWith(app.as(GRACE).mfa.remove({ id: laptop.factor.id }), 'not-found');
  await app.as(ADA).mfa.remove({ id: laptop.factor.id });
  assert.is((await app.as(ADA).mfa.list({})).recovery_codes, 10);
  await app.as(ADA).mfa.remove({ id: key.factor.id });

  assert.equal(await app.as(ADA).mfa.list({}), { factors: [], recovery_codes: 0 });
  await logInWith(app, ADA);
  assert.equal(await rowsOf(app, 'passkeys'), []);
  const mails = await mailsTo(app, ADA);
  assert.match(await textOf(app, mails[0]), /A passkey was removed from ada@acme\.test at Acme Analytics/);
  assert.match(await textOf(app, mails.at(-1)), /A passkey was added to ada@acme\.test at Acme Analytics/);
});

passkeys('stand beside authenticator apps, whose codes skip them, until all are reset', async ({ app }) => {
  const { codes, secret } = await enroll(app, ADA, 'Phone');
  const added = await enrollPasskey(app, ADA, 'Laptop');
  assert.equal([codes.length, added.codes], [10, []]);
  const { account } = await app.as(ACME).users.screen({ email: ADA });
  const shown = account?.second_factors.map(({ kind, name }) => `${kind} ${name}`);
  assert.equal(shown, ['totp Phone', 'passkey Laptop']);
  app.clock.advance(MINUTE_MS);
  await logInWith(app, ADA, codeAt(secret, app.clock.now()));

  await app.as(ACME).users.resetFactors({ email: ADA });
  assert.equal(await app.as(ADA).mfa.list({}), { factors: [], recovery_codes: 0 });
  await logInWith(app, ADA);
});

passkeys.run();

const elsewhere = appSuite('passkeys at an address for which browsers have none', {
  BASE_URL: 'https://192.0.2.1',
});

elsewhere('are unavailable', async ({ app }) => {
  await rejectsWith(app.as(ADA).mfa.startPasskey({}), 'passkeys-unavailable');
  await rejectsWith(app.as(null).sessions.startPasskey({}), 'passkeys-unavailable');
});

elsewhere.run();
