import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { createSignedLinks } from '../../src/services/auth/signed-links.ts';
import { mailedPasswordPath } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import { setRows } from '../support/rows.ts';
import {
  ACME,
  ADA,
  appSuite,
  DEMO_PASSWORD,
  EDSGER,
  GRACE,
  IDLE,
  ROOT,
  STAFF,
  type TestApp,
} from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const passwords = appSuite('passwords');

const NEW = 'violet-harbor-92-kite';

const login = (app: TestApp, username: string, password: string) =>
  app.as(null).tokens.create({ username, password });

const sites = (app: TestApp, token: string) =>
  app.send('GET /jb/sites/', { headers: { authorization: `Token ${token}` } });

passwords('can be changed with the current one, which revokes all other credentials', async ({ app }) => {
  const other = await login(app, GRACE, DEMO_PASSWORD);
  const own = await app.tokenOf(GRACE);
  app.clock.advance(1000);

  await app.as(GRACE).passwords.change({ password: DEMO_PASSWORD, new_password: NEW });

  assert.is((await sites(app, own)).statusCode, 200);
  assert.is((await sites(app, other.token)).statusCode, 401);
  await rejectsWith(login(app, GRACE, DEMO_PASSWORD), 'invalid-credentials');
  assert.ok((await login(app, GRACE, NEW)).token);
  const users = await app.as(ACME).clients.users({ id: 1 });
  const grace = users.find((user) => user.email === GRACE);
  assert.is(grace?.last_password_set.getTime(), app.clock.now().getTime());
});

passwords(
  'cannot be changed with a wrong current one, to the same one, or to a weak one',
  async ({ app }) => {
    const change = (password: string, new_password: string) =>
      app.as(ADA).passwords.change({ password, new_password });

    const wrong = await rejectsWith(change('wrong', NEW), 'invalid-input');
    const same = await rejectsWith(change(DEMO_PASSWORD, DEMO_PASSWORD), 'invalid-input');
    const weak = await rejectsWith(change(DEMO_PASSWORD, 'ada'), 'invalid-input');

    assert.equal(Object.keys(wrong.fields ?? {}), ['password']);
    assert.equal(Object.keys(same.fields ?? {}), ['new_password']);
    assert.is(weak.fields?.new_password?.length, 2, 'too short and personal');
    assert.ok((await login(app, ADA, DEMO_PASSWORD)).token);
  },
);

passwords('must meet the strictest policy of the user’s clients', async ({ app }) => {
  await app.as(ROOT).clients.update({ id: 2, password_min_length: 20, password_require_special: true });
  await app
    .as(ROOT)
    .users.create({ email: 'both@acme.test', apps: ['zylTKNVx', 'Hb7cW2ke'], send_email: false });
  const hash = await app.hasher.hash(DEMO_PASSWORD);
  await setRows(app, 'users', { email: 'both@acme.test' }, { password_hash: hash });
  const change = (new_password: string) =>
    app.as('both@acme.test').passwords.change({ password: DEMO_PASSWORD, new_password });

  const { fields } = await rejectsWith(change('violetharbor92kite'), 'invalid-input');
  await change('violet-harbor-92-kite-');
  await app.as(ROOT).clients.update({ id: 2, password_min_length: 8, password_require_special: false });

  assert.is(fields?.new_password?.length, 2);
});

passwords('expire after the shortest period that a client of the user sets', async ({ app }) => {
  const setDays = (id: number, days: number) =>
    app.as(ROOT).clients.update({ id, password_expiration_days: days });
  await setDays(1, 90);
  await setDays(2, 30);
  app.clock.advance(31 * DAY_MS);

  await rejectsWith(login(app, 'both@acme.test', 'violet-harbor-92-kite-'), 'password_expired');
  await setDays(2, 0);
  const { token } = await login(app, 'both@acme.test', 'violet-harbor-92-kite-');
  await setDays(1, 0);

  assert.ok(token);
});

passwords('expire after the days of the policy, until they are changed', async ({ app }) => {
  await app.as(ROOT).clients.update({ id: 2, password_expiration_days: 30 });
  app.clock.advance(31 * DAY_MS);

  const expired = await rejectsWith(login(app, EDSGER, DEMO_PASSWORD), 'password_expired');
  const [entry] = await app.as(ROOT).audit.list({ target: EDSGER });
  await rejectsWith(login(app, EDSGER, 'wrong'), 'invalid-credentials');
  const renewal = { username: EDSGER, password: DEMO_PASSWORD };
  const weak = await rejectsWith(
    app.as(null).passwords.renew({ ...renewal, new_password: 'dijkstra' }),
    'invalid-input',
  );
  await app.as(null).passwords.renew({ ...renewal, new_password: NEW });

  assert.equal([entry?.action, entry?.actor], ['login.expired', EDSGER]);
  assert.is(expired.status, 403);
  assert.ok(weak.fields?.new_password);
  assert.ok((await login(app, EDSGER, NEW)).token);
  await app.as(ROOT).clients.update({ id: 2, password_expiration_days: 0 });
});

passwords('are changed without a login only after they have expired', async ({ app }) => {
  const renewal = { username: ADA, password: DEMO_PASSWORD, new_password: NEW };
  const { fields } = await rejectsWith(app.as(null).passwords.renew(renewal), 'invalid-input');
  assert.equal(fields, { password: ['This password has not expired. Log in, and change it there.'] });
});

passwords('cannot be changed after expiry without the current one', async ({ app }) => {
  for (const [username, password] of [
    [ADA, 'wrong'],
    [IDLE, DEMO_PASSWORD],
    ['unknown@acme.test', DEMO_PASSWORD],
  ] as const) {
    await rejectsWith(
      app.as(null).passwords.renew({ username, password, new_password: NEW }),
      'invalid-credentials',
    );
  }
});

passwords('are checked while being typed, by the policy of the user or of the host', async ({ app }) => {
  await app.as(ROOT).clients.update({ id: 1, password_require_numeric: true });

  const own = await app.as(ADA).passwords.check({ password: 'Lovelace-and-more' });
  const anonymous = await app
    .as(null)
    .passwords.check({ password: 'violet-harbor-92', first_name: 'Violet' });
  const empty = await app.as(null).passwords.check({ password: '' });
  const failed = (result: typeof own) => result.rules.filter((rule) => !rule.passed).map((rule) => rule.rule);

  assert.equal(failed(own), ['numeric', 'personal']);
  assert.equal(failed(anonymous), ['personal']);
  assert.equal(failed(empty), ['min_length', 'numeric']);
  assert.not.ok(empty.passed);
  await app.as(ROOT).clients.update({ id: 1, password_require_numeric: false });
});

passwords('an expiry preview lists the affected users', async ({ app }) => {
  const preview = (as: string, days: number, id = 1) => app.as(as).passwords.previewExpiry({ id, days });

  assert.equal(await preview(ACME, 0), { total: 0, users: [] });
  const strict = await preview(ACME, 10);
  assert.ok(strict.users.some((user) => user.email === ADA));
  assert.not.ok(
    strict.users.some((user) => user.email === IDLE),
    'inactive people cannot log in anyway',
  );
  assert.is(strict.total, strict.users.length);
  assert.ok((await preview(STAFF, 10)).total > 0);
  await rejectsWith(preview(ACME, 10, 2), 'not-found');
  await rejectsWith(preview(ADA, 10), 'forbidden');
});

passwords(
  'an expiry preview tells admins of one client nothing about accounts of others',
  async ({ app }) => {
    const names = ['shared-with@preview.test', 'shared-without@preview.test', 'alone@preview.test'];
    const hash = await app.hasher.hash(DEMO_PASSWORD);
    for (const email of names) await app.as(ROOT).users.create({ email, client: 2 });
    const users = app.db().updateTable('users');
    await users
      .set({ password_hash: hash })
      .where('email', 'in', ['shared-with@preview.test', 'alone@preview.test'])
      .execute();
    app.clock.advance(DAY_MS);
    for (const email of names) await app.as(ROOT).users.update({ email, apps: [FLEET, SALES] });
    await app.as(ROOT).memberships.remove({ id: 2, email: 'alone@preview.test' });
    app.clock.advance(20 * DAY_MS);

    const previewed = async (as: string) =>
      (await app.as(as).passwords.previewExpiry({ id: 1, days: 10, limit: 1000 })).users
        .filter(({ email }) => names.includes(email))
        .map(({ email, last_password_set }) => [email, last_password_set !== null]);

    assert.equal((await previewed(ACME)).toSorted(), names.map((email) => [email, false]).toSorted());
    assert.equal(
      (await previewed(ROOT)).toSorted(),
      ['alone@preview.test', 'shared-with@preview.test'].map((email) => [email, true]),
    );
  },
);

passwords('a change revokes a concurrent login with the old one', async ({ app }) => {
  const email = 'race@acme.test';
  await app.as(ACME).users.create({ email });
  const hash = await app.hasher.hash(DEMO_PASSWORD);
  await app.db().updateTable('users').set({ password_hash: hash }).where('email', '=', email).execute();
  await app.tokenOf(email);
  app.clock.advance(1000);

  const logins = Array.from({ length: 6 }, () => login(app, email, DEMO_PASSWORD).catch(() => null));
  const change = app.as(email).passwords.change({ password: DEMO_PASSWORD, new_password: NEW });
  await Promise.all([...logins, change]);
  const alive = await app
    .db()
    .selectFrom('api_tokens')
    .innerJoin('users', 'users.id', 'api_tokens.user_id')
    .select('api_tokens.id')
    .where('users.email', '=', email)
    .execute();

  assert.is(alive.length, 1, 'the one that asked for the change');
});

const mailedToken = async (app: TestApp, email: string): Promise<string> =>
  new URL(await mailedPasswordPath(app, email), 'http://x').searchParams.get('token') ?? '';

const notices = async (app: TestApp, recipient: string) => {
  const mails = await app.as(ROOT).mail.list({ status: 'all', limit: 200 });
  return mails.filter((mail) => mail.kind === 'password-changed' && mail.recipient === recipient);
};

passwords('notice is mailed after a password is changed or reset', async ({ app }) => {
  const next = (n: number) => `${NEW}-${n}`;
  const counts: number[] = [];
  const count = async () => counts.push((await notices(app, STAFF)).length);

  await app.as(STAFF).passwords.change({ password: DEMO_PASSWORD, new_password: next(1) });
  await count();
  app.clock.advance(1000);
  await app.as(null).passwords.requestReset({ email: STAFF });
  const token = await mailedToken(app, STAFF);
  await app.as(null).passwords.reset({ token, password: next(2) });
  await count();
  const [last] = await notices(app, STAFF);
  const { text } = await app.as(ROOT).mail.get({ id: last?.id ?? 0 });

  assert.equal(counts, [1, 2]);
  assert.match(text, /was changed on \d+ \w+ \d{4}, \d\d:\d\d \(UTC\) by a request from 127\.0\.0\.1\./);
  assert.not.match(text, 'http');
});

passwords('notice is not mailed after a failed change or a first password', async ({ app }) => {
  const before = (await notices(app, ADA)).length;
  await rejectsWith(app.as(ADA).passwords.change({ password: 'wrong', new_password: NEW }), 'invalid-input');
  await app.as(ROOT).users.create({ email: 'first@acme.test', client: 1, send_email: true });
  const token = await mailedToken(app, 'first@acme.test');
  await app.as(null).passwords.reset({ token, password: NEW });

  assert.is((await notices(app, ADA)).length, before);
  assert.equal(await notices(app, 'first@acme.test'), []);
});

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

passwords('resets enqueue a mail to any address without looking up the account', async ({ app }) => {
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

passwords('resets are limited per address, whether or not the account exists', async ({ app }) => {
  for (const email of [GRACE, 'stranger@nowhere.test']) {
    const request = () => app.as(null).passwords.requestReset({ email });
    for (let n = 0; n < 5; n += 1) await request();

    const problem = await rejectsWith(request(), 'throttled');
    assert.ok((problem.retryAfterSeconds ?? 0) > 0);
  }
});

passwords(
  'resets set a password once, revoke all credentials, and forget wrong passwords',
  async ({ app }) => {
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
  },
);

passwords('resets keep the link valid after a weak password', async ({ app }) => {
  const token = await linkFor(app, GRACE);

  const { fields } = await rejectsWith(
    app.as(null).passwords.reset({ token, password: 'hopper' }),
    'invalid-input',
  );

  assert.is(fields?.password?.length, 3, 'short, common and personal');
  await app.as(null).passwords.reset({ token, password: NEW });
});

passwords('resets accept only one of two concurrent uses of a link', async ({ app }) => {
  const token = await linkFor(app, GRACE);

  const outcomes = await Promise.allSettled(
    ['one', 'two'].map((word) => app.as(null).passwords.reset({ token, password: `${NEW}-${word}` })),
  );

  assert.equal(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
});

passwords('resets expire after an hour, by deactivation, and by a password change', async ({ app }) => {
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

passwords('resets refuse a token that is malformed or signed with another key', async ({ app }) => {
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

passwords('resets do not deadlock with deactivations of the same user', async ({ app }) => {
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

passwords.run();
bounded.run();
