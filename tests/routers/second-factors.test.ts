import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { countUnreadableFactors } from '../../src/services/auth/one-time-codes.ts';
import { whileLocked } from '../support/database-sessions.ts';
import { createScript } from '../support/http-clients.ts';
import { mailedPasswordPath } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowOf, rowsOf } from '../support/rows.ts';
import {
  challenged,
  codeAt,
  confirmTokens,
  enroll,
  forgetAttempts,
  nextCode,
  problemIn,
  WRONG_CODE,
} from '../support/second-factors.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GLOBEX,
  GRACE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { until } from '../support/time.ts';

const factors = appSuite('second factors');

factors.before.each(async ({ app }) => {
  await sql`delete from mfa_factors`.execute(app.db());
  await sql`delete from recovery_codes`.execute(app.db());
  await sql`delete from outbox_mails`.execute(app.db());
  await forgetAttempts(app);
});

const logInWith = (app: TestApp, username: string, otp?: string) =>
  app.as(null).tokens.create({ username, password: DEMO_PASSWORD, otp });

const actionsOf = async (app: TestApp, target: string): Promise<string[]> => {
  const entries = await app.as(ROOT).audit.list({ target, limit: 200 });
  return entries.map(({ action }) => action).filter((action) => action.startsWith('mfa.'));
};
const mailsTo = async (app: TestApp, recipient: string): Promise<string[]> =>
  (await app.as(ROOT).mail.list({ recipient, status: 'all' })).map(({ kind }) => kind);

factors('count after their first code only', async ({ app }) => {
  const ada = app.as(ADA);
  const started = await ada.mfa.startTotp({});
  await logInWith(app, ADA);
  assert.equal(await ada.mfa.list({}), { factors: [], recovery_codes: 0 });
  await rejectsWith(ada.mfa.confirmTotp({ code: WRONG_CODE }), 'invalid-otp');

  const code = codeAt(started.secret, app.clock.now());
  const { recovery_codes } = await ada.mfa.confirmTotp({ code: `${code.slice(0, 3)}-${code.slice(3)}` });
  const { factors: listed, recovery_codes: left } = await ada.mfa.list({});

  assert.is(new Set(recovery_codes).size, 10);
  for (const each of recovery_codes) assert.match(each, /^([a-z2-7]{4}-){3}[a-z2-7]{4}$/);
  assert.is(left, 10);
  assert.equal(
    listed.map(({ id: _, ...factor }) => factor),
    [{ kind: 'totp', name: 'Authenticator app', confirmed_at: app.clock.now(), last_used_at: null }],
  );
  await rejectsWith(logInWith(app, ADA), 'otp-required');
  assert.equal(await mailsTo(app, ADA), ['second-factor-added']);
  assert.equal((await actionsOf(app, ADA)).slice(0, 1), ['mfa.enroll']);
});

factors('are started anew by a second start, and within an hour', async ({ app }) => {
  const grace = app.as(GRACE);
  await confirmTokens(app, GRACE);
  const first = await grace.mfa.startTotp({});
  const second = await grace.mfa.startTotp({ name: 'Phone' });
  assert.not.equal(first.secret, second.secret);
  await rejectsWith(grace.mfa.confirmTotp({ code: codeAt(first.secret, app.clock.now()) }), 'invalid-otp');
  app.clock.advance(HOUR_MS);
  await rejectsWith(grace.mfa.startTotp({}), 'reauthentication-required');
  await confirmTokens(app, GRACE);
  await rejectsWith(grace.mfa.confirmTotp({ code: codeAt(second.secret, app.clock.now()) }), 'not-found');
});

factors('give no recovery codes to a copied cookie that waits beside its owner', async ({ app }) => {
  const owner = createScript(app);
  await owner.logIn(ADA, DEMO_PASSWORD);
  const { secret } = (await owner.send('POST /mfa/totp/')).json();
  const thief = createScript(app);
  for (const [name, value] of owner.cookies) thief.cookies.set(name, value);
  let copied: ReturnType<typeof thief.send> | undefined;
  let isAnswered = false;
  const countWaiting = async (): Promise<number> => {
    const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      app.db(),
    );
    return rows.length;
  };
  const confirmed = await whileLocked(
    app,
    { email: ADA },
    () => owner.send('POST /mfa/totp/confirm/', { payload: { code: codeAt(secret, app.clock.now()) } }),
    async () => {
      copied = thief.send('POST /mfa/recovery-codes/').finally(() => {
        isAnswered = true;
      });
      await until('it waits too, or is answered', async () => isAnswered || (await countWaiting()) === 2);
    },
  );

  assert.is(confirmed.statusCode, 200);
  assert.is((await copied)?.statusCode, 401);
});

factors('are five at most, of which each has codes of its own', async ({ app }) => {
  const first = await enroll(app, ADA, 'Phone');
  const second = await enroll(app, ADA, 'Tablet');
  assert.equal(second.codes, []);
  await logInWith(app, ADA, nextCode(app, first.secret));
  await logInWith(app, ADA, codeAt(second.secret, app.clock.now()));
  for (const name of ['3', '4', '5']) await enroll(app, ADA, name);

  const { fields } = await rejectsWith(app.as(ADA).mfa.startTotp({ name: '6' }), 'invalid-input');
  assert.match(fields?.name?.[0] ?? '', 'You already have 5 authenticator apps.');
});

factors('take each code once', async ({ app }) => {
  const { secret } = await enroll(app, ADA);
  const enrolledWith = codeAt(secret, app.clock.now());
  await rejectsWith(logInWith(app, ADA, enrolledWith), 'invalid-otp');
  const code = nextCode(app, secret);
  await logInWith(app, ADA, code);
  await rejectsWith(logInWith(app, ADA, code), 'invalid-otp');
  const { factors: listed } = await app.as(ADA).mfa.list({});

  assert.equal(listed[0]?.last_used_at, app.clock.now());
});

factors('of one user are those of no other', async ({ app }) => {
  const ada = await enroll(app, ADA);
  const grace = await enroll(app, GRACE);
  await rejectsWith(logInWith(app, GRACE, nextCode(app, ada.secret)), 'invalid-otp');
  await rejectsWith(logInWith(app, GRACE, ada.codes[0]), 'invalid-otp');
  // Copied in the database.
  await sql`update mfa_factors set sealed_secret = (select sealed_secret from mfa_factors f join users u on u.id = f.user_id
    where u.email = ${ADA}) where user_id = (select id from users where email = ${GRACE})`.execute(app.db());
  await rejectsWith(logInWith(app, GRACE, nextCode(app, ada.secret)), 'invalid-otp');
  await logInWith(app, GRACE, grace.codes[0]);
});

factors('are stored so that the database alone is no use', async ({ app }) => {
  const { secret, codes } = await enroll(app, ADA);
  const [{ sealed_secret, ...factor }, kept] = [
    await rowOf(app, 'mfa_factors'),
    await rowsOf(app, 'recovery_codes'),
  ];
  const text = JSON.stringify([factor, kept, sealed_secret?.toString('latin1')]);

  for (const each of [secret, ...codes, ...codes.map((code) => code.replaceAll('-', ''))])
    assert.not.ok(text.includes(each));
});

factors('are replaced by a recovery code, once, which is mailed and recorded', async ({ app }) => {
  const { codes } = await enroll(app, ADA);
  const [first = '', second = ''] = codes;
  await logInWith(app, ADA, ` ${first.toUpperCase().replaceAll('-', ' ')} `);
  await rejectsWith(logInWith(app, ADA, first), 'invalid-otp');
  await logInWith(app, ADA, second.replaceAll('-', ''));

  assert.is((await app.as(ADA).mfa.list({})).recovery_codes, 8);
  assert.equal((await mailsTo(app, ADA)).filter((kind) => kind === 'recovery-code-used').length, 2);
  assert.equal((await actionsOf(app, ADA)).slice(0, 3), [
    'mfa.use-recovery-code',
    'mfa.fail',
    'mfa.use-recovery-code',
  ]);
});

factors('have ten new recovery codes on demand, which end the old ones', async ({ app }) => {
  await rejectsWith(app.as(ADA).mfa.renewRecoveryCodes({}), 'not-found');
  const { codes } = await enroll(app, ADA);
  const { recovery_codes: renewed } = await app.as(ADA).mfa.renewRecoveryCodes({});

  assert.is(renewed.filter((code) => !codes.includes(code)).length, 10);
  await rejectsWith(logInWith(app, ADA, codes[0]), 'invalid-otp');
  await logInWith(app, ADA, renewed[0]);
});

factors('are removed one by one, and with the last one the recovery codes', async ({ app }) => {
  const { codes } = await enroll(app, ADA, 'Phone');
  await enroll(app, ADA, 'Tablet');
  const ada = app.as(ADA);
  const [phone, tablet] = (await ada.mfa.list({})).factors;
  await rejectsWith(app.as(GRACE).mfa.remove({ id: phone?.id ?? 0 }), 'not-found');
  await ada.mfa.remove({ id: phone?.id ?? 0 });
  await logInWith(app, ADA, codes[0]);
  await ada.mfa.remove({ id: tablet?.id ?? 0 });

  assert.equal(await ada.mfa.list({}), { factors: [], recovery_codes: 0 });
  await logInWith(app, ADA);
  await rejectsWith(ada.mfa.remove({ id: tablet?.id ?? 0 }), 'not-found');
  assert.equal((await mailsTo(app, ADA)).filter((kind) => kind === 'second-factor-removed').length, 2);
});

factors('are changed by a token only shortly after a code or a password', async ({ app }) => {
  const { token: named } = await app.as(ADA).tokens.createNamed({ name: 'script' });
  const login = await app.tokenOf(ADA);
  const { secret } = await enroll(app, ADA);
  const { factors: listed } = await app.as(ADA).mfa.list({});
  app.clock.advance(16 * MINUTE_MS);
  const { token: refreshed } = await app.as(null).tokens.refresh({ token: login });

  const paths = [`DELETE /mfa/${listed[0]?.id}/`, 'POST /mfa/recovery-codes/', 'POST /mfa/totp/'];
  for (const token of [named, login, refreshed])
    for (const path of paths) {
      const headers = { authorization: `Token ${token}` };
      assert.is(problemIn(await app.send(path, { headers })), 'reauthentication-required', path);
    }

  const headers = { authorization: `Token ${named}` };
  const confirm = (payload: object) => app.send('POST /session/confirm/', { headers, payload });
  assert.is(problemIn(await confirm({ password: DEMO_PASSWORD })), 'otp-required');
  assert.is((await confirm({ code: nextCode(app, secret) })).statusCode, 204);
  assert.is((await app.send(paths[0] ?? '', { headers })).statusCode, 204);
  await app.renewToken(ADA);
});

factors('lock after ten wrong codes, also for the right one and password', async ({ app }) => {
  const { secret, codes } = await enroll(app, ADA);
  for (let n = 0; n < 10; n += 1) await rejectsWith(logInWith(app, ADA, WRONG_CODE), 'invalid-otp');
  await rejectsWith(logInWith(app, ADA), 'otp-required');
  await rejectsWith(logInWith(app, ADA, nextCode(app, secret)), 'throttled');
  await rejectsWith(logInWith(app, ADA, codes[0]), 'throttled');
  assert.is((await app.as(ADA).mfa.list({})).recovery_codes, 10);
  const [mail] = await app.as(ROOT).mail.list({ recipient: ADA, status: 'all' });
  const { text } = await app.as(ROOT).mail.get({ id: mail?.id ?? 0 });

  assert.is(mail?.kind, 'failed-codes');
  assert.match(text, 'entered a wrong code 10 times within 15 minutes');
  assert.match(text, 'set a new password now');
  await forgetAttempts(app);
  await logInWith(app, ADA, nextCode(app, secret));
});

factors('of a member are reset by an admin of their client, with reason and mail', async ({ app }) => {
  const { secret } = await enroll(app, ADA);
  await rejectsWith(app.as(GLOBEX).users.resetFactors({ email: ADA }), 'not-found');
  await rejectsWith(app.as(STAFF).users.resetFactors({ email: ADA }), 'forbidden');
  await rejectsWith(app.as(GRACE).users.resetFactors({ email: ADA }), 'forbidden');
  const { browser, answer } = await challenged(app, ADA);
  await answer(nextCode(app, secret));
  assert.is((await browser.send('GET /session/')).statusCode, 200);
  await app.as(ACME).users.resetFactors({ email: ADA, reason: 'Lost the phone' });
  assert.is((await browser.send('GET /session/')).statusCode, 401, 'the sessions of before end');
  assert.is(problemIn(await app.send('POST /mfa/totp/', { as: ADA })), 'reauthentication-required');
  const [entry] = await app.as(ROOT).audit.list({ target: ADA, action: 'mfa.reset' });

  await logInWith(app, ADA);
  assert.equal([entry?.actor, entry?.details], [ACME, { reason: 'Lost the phone' }]);
  assert.is((await mailsTo(app, ADA))[0], 'second-factor-reset');
  await rejectsWith(app.as(ACME).users.resetFactors({ email: ADA }), 'not-found');
});

factors('of staff and superusers are reset by superusers only, and never by their owner', async ({ app }) => {
  for (const email of [STAFF, ROOT, ACME]) await enroll(app, email);
  await rejectsWith(app.as(ACME).users.resetFactors({ email: STAFF }), 'not-found');
  await rejectsWith(app.as(ROOT).users.resetFactors({ email: ROOT }), 'self-modification');
  await rejectsWith(app.as(ACME).users.resetFactors({ email: ACME }), 'self-modification');
  const other = 'second-root@steward.test';
  await app.as(ROOT).users.create({ email: other, client: 1 });
  await app.as(ROOT).roles.update({ email: other, is_superuser: true });
  await enroll(app, other);
  await rejectsWith(app.as(ACME).users.resetFactors({ email: other }), 'forbidden');
  for (const email of [STAFF, other]) await app.as(ROOT).users.resetFactors({ email });
  await app.as(other).users.resetFactors({ email: ROOT });

  await logInWith(app, ROOT);
});

factors('survive a password reset, which sets no cookie', async ({ app }) => {
  const { secret } = await enroll(app, GRACE);
  await app.as(null).passwords.requestReset({ email: GRACE });
  const token = new URL(await mailedPasswordPath(app, GRACE), 'http://x').searchParams.get('token') ?? '';
  const password = 'Violet-harbor-92-kite';
  const reset = await app.send('POST /password/reset/', { payload: { token, password } });
  const withNew = (otp?: string) => app.as(null).tokens.create({ username: GRACE, password, otp });

  assert.equal([reset.statusCode, reset.cookies], [204, []]);
  await rejectsWith(withNew(), 'otp-required');
  assert.ok((await withNew(nextCode(app, secret))).token);
});

factors('end when a superuser changes the address', async ({ app }) => {
  const email = 'first@acme.test';
  await app.as(ROOT).users.create({ email, client: 1 });
  await enroll(app, email);
  await app.as(ROOT).users.changeEmail({ email, new_email: 'second@acme.test' });

  assert.equal([await rowsOf(app, 'mfa_factors'), await rowsOf(app, 'recovery_codes')], [[], []]);
});

factors('are lost by a change of the secret key, while recovery codes work', async ({ app }) => {
  const { secret, codes } = await enroll(app, EDSGER);
  const em = app.orm.em.fork();
  assert.is(await countUnreadableFactors(em, 'another secret key'), 1);
  await sql`update mfa_factors set sealed_secret = decode(repeat('00', 60), 'hex')`.execute(app.db());
  await rejectsWith(logInWith(app, EDSGER, nextCode(app, secret)), 'invalid-otp');
  await logInWith(app, EDSGER, codes[0]);
});

factors.run();
