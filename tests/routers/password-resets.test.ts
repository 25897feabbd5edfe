import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { createSignedLinks } from '../../src/services/auth/signed-links.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ADA, appSuite, DEMO_PASSWORD, GRACE, IDLE, ROOT, type TestApp } from '../support/test-app.ts';

const resets = appSuite('password resets');

const NEW = 'violet-harbor-92-kite';
const login = (app: TestApp, username: string, password: string) =>
  app.as(null).tokens.create({ username, password });

/** The token of a link as a mail would carry it. */
const linkFor = async (app: TestApp, email: string): Promise<string> => {
  const db = app.db();
  const user = await db.selectFrom('users').select('id').where('email', '=', email).executeTakeFirstOrThrow();
  const now = app.clock.now();
  const times = { created_at: now, expires_at: new Date(now.getTime() + 60 * MINUTE_MS) };
  const { id } = await db
    .insertInto('password_links')
    .values({ user_id: user.id, ...times })
    .returning('id')
    .executeTakeFirstOrThrow();
  const url = app.links.passwordLink({ id, userId: user.id, createdAt: now });
  return new URL(url).searchParams.get('token') ?? '';
};

resets('enqueue a mail to any address without looking up the account', async ({ app }) => {
  const before = await app.db().selectFrom('outbox_mails').select('id').execute();

  for (const email of [ADA, 'Unknown@Nowhere.test', IDLE]) {
    assert.is(await app.as(null).passwords.requestReset({ email }), undefined);
  }
  const mails = await app
    .db()
    .selectFrom('outbox_mails')
    .select(['kind', 'recipient', 'user_id'])
    .orderBy('id')
    .offset(before.length)
    .execute();

  assert.equal(
    mails.map((mail) => [mail.kind, mail.recipient, mail.user_id]),
    [ADA, 'unknown@nowhere.test', IDLE].map((email) => ['password-reset', email, null]),
  );
});

resets('are limited per address, whether or not the account exists', async ({ app }) => {
  for (const email of [GRACE, 'stranger@nowhere.test']) {
    const request = () => app.as(null).passwords.requestReset({ email });
    for (let n = 0; n < 5; n += 1) await request();

    const problem = await rejectsWith(request(), 'throttled');
    assert.ok((problem.retryAfterSeconds ?? 0) > 0);
  }
});

resets('set a password once, revoke all credentials, and clear the login throttle', async ({ app }) => {
  const { token: old } = await login(app, ADA, DEMO_PASSWORD);
  for (let n = 0; n < 10; n += 1) await login(app, ADA, 'wrong').catch(() => null);
  await rejectsWith(login(app, ADA, DEMO_PASSWORD), 'throttled');
  const token = await linkFor(app, ADA);
  const twin = await linkFor(app, ADA);

  const opened = await app.as(null).passwords.verifyToken({ token });
  app.clock.advance(1000);
  await app.as(null).passwords.reset({ token, password: NEW });

  assert.is(opened.email, ADA);
  assert.ok(opened.rules.some(({ rule }) => rule === 'min_length'));
  assert.ok((await login(app, ADA, NEW)).token);
  const answer = await app.send('GET /jb/sites/', { headers: { authorization: `Token ${old}` } });
  assert.is(answer.statusCode, 401);
  for (const dead of [token, twin]) {
    await rejectsWith(app.as(null).passwords.verifyToken({ token: dead }), 'invalid-link');
    await rejectsWith(app.as(null).passwords.reset({ token: dead, password: NEW }), 'invalid-link');
  }
});

resets('keep the link valid after a weak password', async ({ app }) => {
  const token = await linkFor(app, GRACE);

  const { fields } = await rejectsWith(
    app.as(null).passwords.reset({ token, password: 'hopper' }),
    'invalid-input',
  );

  assert.is(fields?.password?.length, 3, 'short, common and personal');
  await app.as(null).passwords.reset({ token, password: NEW });
});

resets('accept only one of two concurrent uses of a link', async ({ app }) => {
  const token = await linkFor(app, GRACE);

  const outcomes = await Promise.allSettled(
    ['one', 'two'].map((word) => app.as(null).passwords.reset({ token, password: `${NEW}-${word}` })),
  );

  assert.equal(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
});

resets('expire after an hour, by deactivation, and by a password change', async ({ app }) => {
  const dead = (token: string) => rejectsWith(app.as(null).passwords.verifyToken({ token }), 'invalid-link');

  const late = await linkFor(app, GRACE);
  app.clock.advance(60 * MINUTE_MS);
  await dead(late);
  const deactivated = await linkFor(app, GRACE);
  await app.as(ROOT).users.deactivate({ email: GRACE });
  await dead(deactivated);
  await app.as(ROOT).users.update({ email: GRACE, is_active: true });
  await dead(deactivated);
});

resets('refuse a token that is malformed or signed with another key', async ({ app }) => {
  const token = await linkFor(app, ADA);
  const [id = '', signature = ''] = token.split('.');
  const forger = createSignedLinks({ secretKey: 'another key', baseUrl: '' });
  const forged = forger.passwordLink({ id: Number(id), userId: 5, createdAt: app.clock.now() });

  for (const wrong of [
    '',
    '.',
    id,
    `${id}.`,
    `${Number(id) + 1}.${signature}`,
    `${id}.${signature.slice(1)}`,
    `${id}.${signature}x`,
    `0${id}.${'é'.repeat(43)}`,
    `999999999999999.${signature}`,
    new URL(forged, 'http://x').searchParams.get('token') ?? '',
  ]) {
    await rejectsWith(app.as(null).passwords.verifyToken({ token: wrong }), 'invalid-link');
  }
  assert.is((await app.as(null).passwords.verifyToken({ token })).email, ADA);
});

resets('do not deadlock with deactivations of the same user', async ({ app }) => {
  for (let n = 0; n < 10; n += 1) {
    const token = await linkFor(app, GRACE);
    const outcomes = await Promise.allSettled([
      app.as(null).passwords.reset({ token, password: `${NEW}-${n}` }),
      app.as(ROOT).users.deactivate({ email: GRACE }),
    ]);
    const [reset, deactivation] = outcomes;

    assert.is(deactivation.status, 'fulfilled');
    if (reset.status === 'rejected') await rejectsWith(Promise.reject(reset.reason), 'invalid-link');
    await app.as(ROOT).users.update({ email: GRACE, is_active: true });
  }
});

resets.run();

const bounded = appSuite('limits of password resets', { TRUST_PROXY: '1' });

bounded('do not count requests beyond the limit of a network against accounts', async ({ app }) => {
  const request = async (email: string, address: string) =>
    (
      await app.send('POST /password/request-reset/', {
        payload: { email },
        headers: { 'x-forwarded-for': address },
      })
    ).statusCode;
  for (let n = 0; n < 50; n += 1) assert.is(await request(`n${n}@nowhere.test`, '10.9.9.9'), 204);

  for (let n = 0; n < 6; n += 1) assert.is(await request(GRACE, '10.9.9.9'), 429);
  assert.is(await request(GRACE, '192.0.2.1'), 204);
});

bounded.run();
