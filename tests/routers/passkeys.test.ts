import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { createAuthenticator, enrollPasskey } from '../support/passkeys.ts';
import { rejectsWith } from '../support/rejects.ts';
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

passkeys(
  'count after they were created only, with recovery codes, a mail and an audit entry',
  async ({ app }) => {
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
    assert.equal(
      (await mailsTo(app, ADA)).map(({ kind }) => kind),
      ['recovery-code-used', 'passkey-added'],
    );
    assert.equal(
      (await latestActions(app, ADA, 9)).filter((action) => action.startsWith('mfa.')),
      ['mfa.use-recovery-code', 'mfa.enroll'],
    );
  },
);

passkeys('are told of in mails with words of their own', async ({ app }) => {
  const { factor } = await enrollPasskey(app, ADA);
  await app.as(ADA).mfa.remove({ id: factor.id });
  const [removed, added] = await mailsTo(app, ADA);
  const texts = await Promise.all(
    [added, removed].map(async (mail) => (await app.as(ROOT).mail.get({ id: mail?.id ?? 0 })).text),
  );

  assert.match(texts[0] ?? '', /A passkey was added to ada@acme\.test at Acme Analytics/);
  assert.match(texts[1] ?? '', /A passkey was removed from ada@acme\.test at Acme Analytics/);
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

passkeys('stand beside authenticator apps, without further recovery codes', async ({ app }) => {
  const { codes } = await enroll(app, ADA, 'Phone');
  const added = await enrollPasskey(app, ADA, 'Laptop');
  const { factors } = await app.as(ADA).mfa.list({});

  assert.equal([codes.length, added.codes], [10, []]);
  assert.equal(
    factors.map(({ kind, name }) => [kind, name]),
    [
      ['totp', 'Phone'],
      ['passkey', 'Laptop'],
    ],
  );
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

passkeys(
  'of another origin, site, challenge or user are refused, as are those without verification',
  async ({ app }) => {
    const faults = {
      'another origin': { origin: 'http://localhost:9000' },
      'a subdomain': { origin: 'http://acme.localhost:8000' },
      'another site': { rpId: 'evil.test' },
      'another challenge': { challenge: 'A'.repeat(43) },
      'a signature instead of a creation': { type: 'webauthn.get' },
      'no verification of the user': { isUserVerified: false },
      'another id than that of its key': { id: '' },
    };
    for (const [name, fault] of Object.entries(faults)) {
      const options = await app.as(ADA).mfa.startPasskey({});
      const credential = createAuthenticator().create(options, fault);
      await rejectsWith(
        app.as(ADA).mfa.addPasskey({ credential }),
        name.startsWith('another id') ? 'invalid-input' : 'invalid-passkey',
      );
    }
    assert.equal(await app.as(ADA).mfa.list({}), { factors: [], recovery_codes: 0 });
  },
);

passkeys('with an attestation are refused, because its certificates are not looked at', async ({ app }) => {
  const options = await app.as(ADA).mfa.startPasskey({});
  const attStmt = new Map<string, number | Buffer | Buffer[]>([
    ['alg', -7],
    ['sig', Buffer.alloc(8)],
    ['x5c', [Buffer.from('a certificate')]],
  ]);
  for (const fmt of ['packed', 'apple', 'android-key']) {
    const credential = createAuthenticator().create(options, { attestation: { fmt, attStmt } });
    await rejectsWith(app.as(ADA).mfa.addPasskey({ credential }), 'invalid-passkey');
  }
});

passkeys('are added once, to one user', async ({ app }) => {
  const options = await app.as(ADA).mfa.startPasskey({});
  const authenticator = createAuthenticator();
  const credential = authenticator.create(options);
  await app.as(ADA).mfa.addPasskey({ credential });
  await rejectsWith(app.as(ADA).mfa.addPasskey({ credential }), 'not-found');
  const ofGrace = await app.as(GRACE).mfa.startPasskey({});
  await rejectsWith(
    app.as(GRACE).mfa.addPasskey({ credential: authenticator.create(ofGrace) }),
    'invalid-passkey',
  );
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
  const first = await app.as(ADA).mfa.startPasskey({});
  const second = await app.as(ADA).mfa.startPasskey({});
  const late = createAuthenticator().create(second);
  await rejectsWith(
    app.as(ADA).mfa.addPasskey({ credential: createAuthenticator().create(first) }),
    'invalid-passkey',
  );
  app.clock.advance(5 * MINUTE_MS);
  await rejectsWith(app.as(ADA).mfa.addPasskey({ credential: late }), 'not-found');
  const third = await app.as(ADA).mfa.startPasskey({});
  const app_ = await app.as(ADA).mfa.startTotp({});
  await rejectsWith(
    app.as(ADA).mfa.addPasskey({ credential: createAuthenticator().create(third) }),
    'not-found',
  );
  await app.as(ADA).mfa.startPasskey({});
  await rejectsWith(app.as(ADA).mfa.confirmTotp({ code: codeAt(app_.secret, app.clock.now()) }), 'not-found');
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
  const { rows } = await sql`select from passkeys`.execute(app.db());
  assert.equal(rows, []);
});

passkeys('are reset with all other factors, and shown to admins by their kind', async ({ app }) => {
  await enroll(app, ADA, 'Phone');
  await enrollPasskey(app, ADA, 'Laptop');
  const { account } = await app.as(ACME).users.screen({ email: ADA });
  assert.equal(
    account?.second_factors.map(({ kind, name }) => [kind, name]),
    [
      ['totp', 'Phone'],
      ['passkey', 'Laptop'],
    ],
  );
  await app.as(ACME).users.resetFactors({ email: ADA });

  assert.equal(await app.as(ADA).mfa.list({}), { factors: [], recovery_codes: 0 });
  await logInWith(app, ADA);
});

passkeys('do not stand in the way of codes, which skip them', async ({ app }) => {
  await enrollPasskey(app, ADA);
  const { secret } = await enroll(app, ADA, 'Phone');
  app.clock.advance(MINUTE_MS);
  await logInWith(app, ADA, codeAt(secret, app.clock.now()));
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
