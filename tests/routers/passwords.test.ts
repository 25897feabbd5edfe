import * as assert from 'uvu/assert';
import { DAY_MS, MINUTE_MS } from '../../src/lib/clock.ts';
import { createSignedLinks } from '../../src/services/auth/signed-links.ts';
import { userId } from '../support/access-views.ts';
import { emptyOutbox, mailedPasswordPath } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import { addRows, rowsOf, setRows, valuesOf } from '../support/rows.ts';
import { forgetAttempts } from '../support/second-factors.ts';
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

passwords('cannot be changed with a wrong current one, or to the same or a weak one', async ({ app }) => {
  const change = (password: string, new_password: string) =>
    app.as(ADA).passwords.change({ password, new_password });

  const wrong = await rejectsWith(change('wrong', NEW), 'invalid-input');
  const same = await rejectsWith(change(DEMO_PASSWORD, DEMO_PASSWORD), 'invalid-input');
  const weak = await rejectsWith(change(DEMO_PASSWORD, 'ada'), 'invalid-input');

  assert.equal(Object.keys(wrong.fields ?? {}), ['password']);
  assert.equal(Object.keys(same.fields ?? {}), ['new_password']);
  assert.is(weak.fields?.new_password?.length, 2, 'too short and personal');
  assert.ok((await login(app, ADA, DEMO_PASSWORD)).token);
});

passwords('must meet the strictest policy of the user’s clients', async ({ app }) => {
  await app.as(ROOT).clients.update({ id: 2, password_min_length: 20, password_require_special: true });
  await app.as(ROOT).users.create({ email: 'both@acme.test', apps: [SALES, FLEET], send_email: false });
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
  const logIn = () => login(app, 'both@acme.test', 'violet-harbor-92-kite-');
  await setDays(1, 90);
  await setDays(2, 30);
  app.clock.advance(31 * DAY_MS);

  await rejectsWith(logIn(), 'password_expired');
  await setDays(2, 0);
  assert.ok((await logIn()).token);
  await setDays(1, 0);
});

passwords('expire after the days of the policy, until they are changed', async ({ app }) => {
  await app.as(ROOT).clients.update({ id: 2, password_expiration_days: 30 });
  app.clock.advance(31 * DAY_MS);

  const expired = await rejectsWith(login(app, EDSGER, DEMO_PASSWORD), 'password_expired');
  const [entry] = await app.as(ROOT).audit.list({ target: EDSGER });
  await rejectsWith(login(app, EDSGER, 'wrong'), 'invalid-credentials');
  const renew = (new_password: string) =>
    app.as(null).passwords.renew({ username: EDSGER, password: DEMO_PASSWORD, new_password });
  const weak = await rejectsWith(renew('dijkstra'), 'invalid-input');
  await renew(NEW);

  assert.equal([entry?.action, entry?.actor], ['login.expired', EDSGER]);
  assert.is(expired.status, 403);
  assert.ok(weak.fields?.new_password);
  assert.ok((await login(app, EDSGER, NEW)).token);
  await app.as(ROOT).clients.update({ id: 2, password_expiration_days: 0 });
});

passwords('are changed without a login only with the current one, after it has expired', async ({ app }) => {
  const renew = (username: string, password: string) =>
    app.as(null).passwords.renew({ username, password, new_password: NEW });

  const { fields } = await rejectsWith(renew(ADA, DEMO_PASSWORD), 'invalid-input');
  assert.equal(fields, { password: ['This password has not expired. Log in, and change it there.'] });
  await rejectsWith(renew(ADA, 'wrong'), 'invalid-credentials');
  for (const email of [IDLE, 'unknown@acme.test'])
    await rejectsWith(renew(email, DEMO_PASSWORD), 'invalid-credentials');
});

passwords('are checked while being typed, by the policy of the user or of the host', async ({ app }) => {
  await app.as(ROOT).clients.update({ id: 1, password_require_numeric: true });

  const own = await app.as(ADA).passwords.check({ password: 'Lovelace-and-more' });
  const { passwords: ofAnyone } = app.as(null);
  const anonymous = await ofAnyone.check({ password: 'violet-harbor-92', first_name: 'Violet' });
  const empty = await ofAnyone.check({ password: '' });
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
  const affected = strict.users.map(({ email }) => email);
  assert.ok(affected.includes(ADA));
  assert.not.ok(affected.includes(IDLE), 'inactive people cannot log in anyway');
  assert.is(strict.total, affected.length);
  assert.ok((await preview(STAFF, 10)).total > 0);
  await rejectsWith(preview(ACME, 10, 2), 'not-found');
  await rejectsWith(preview(ADA, 10), 'forbidden');
});

passwords('an expiry preview tells client admins nothing about shared accounts', async ({ app }) => {
  const names = ['shared-with@preview.test', 'shared-without@preview.test', 'alone@preview.test'];
  const hash = await app.hasher.hash(DEMO_PASSWORD);
  for (const email of names) await app.as(ROOT).users.create({ email, client: 2 });
  const known = ['alone@preview.test', 'shared-with@preview.test'];
  await setRows(app, 'users', { email: known }, { password_hash: hash });
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
    known.map((email) => [email, true]),
  );
});

passwords('a change revokes a concurrent login with the old one', async ({ app }) => {
  const email = 'race@acme.test';
  await app.as(ACME).users.create({ email });
  const hash = await app.hasher.hash(DEMO_PASSWORD);
  await setRows(app, 'users', { email }, { password_hash: hash });
  await app.tokenOf(email);
  app.clock.advance(1000);

  const logins = Array.from({ length: 6 }, () => login(app, email, DEMO_PASSWORD).catch(() => null));
  const change = app.as(email).passwords.change({ password: DEMO_PASSWORD, new_password: NEW });
  await Promise.all([...logins, change]);
  const alive = await rowsOf(app, 'api_tokens', { user_id: await userId(app, email) });

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
  const user_id = await userId(app, email);
  const now = app.clock.now();
  const expires_at = new Date(now.getTime() + 60 * MINUTE_MS);
  await addRows(app, 'password_links', { user_id, created_at: now, expires_at });
  const id = Math.max(...(await valuesOf(app, 'password_links', 'id', { user_id })));
  const url = app.links.passwordLink({ id, userId: user_id, createdAt: now });
  return new URL(url).searchParams.get('token') ?? '';
};

passwords('resets enqueue a mail to any address without looking up the account', async ({ app }) => {
  const emails = [ADA, 'Unknown@Nowhere.test', IDLE];
  await emptyOutbox(app);

  for (const email of emails) assert.is(await app.as(null).passwords.requestReset({ email }), undefined);

  const mails = await rowsOf(app, 'outbox_mails');
  const expected = emails.map((email) => ['password-reset', email.toLowerCase(), null]);
  assert.equal(
    mails.map(({ kind, recipient, user_id }) => [kind, recipient, user_id]),
    expected,
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

passwords('resets set a password once, revoke credentials, and forget wrong passwords', async ({ app }) => {
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
  assert.is((await sites(app, old)).statusCode, 401);
  for (const dead of [token, twin]) {
    await rejectsWith(app.as(null).passwords.verifyToken({ token: dead }), 'invalid-link');
    await rejectsWith(app.as(null).passwords.reset({ token: dead, password: NEW }), 'invalid-link');
  }
});

passwords('resets keep the link valid after a weak password', async ({ app }) => {
  const token = await linkFor(app, GRACE);
  const reset = (password: string) => app.as(null).passwords.reset({ token, password });

  const { fields } = await rejectsWith(reset('hopper'), 'invalid-input');
  assert.is(fields?.password?.length, 3, 'short, common and personal');
  await reset(NEW);
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

  const malformed = ['', '.', id, `${id}.`, `0${id}.${'é'.repeat(43)}`, `999999999999999.${signature}`];
  const altered = [`${Number(id) + 1}.${signature}`, `${id}.${signature.slice(1)}`, `${id}.${signature}x`];
  for (const wrong of [...malformed, ...altered, new URL(forged, 'http://x').searchParams.get('token') ?? ''])
    await rejectsWith(app.as(null).passwords.verifyToken({ token: wrong }), 'invalid-link');
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

passwords('resets are 50 an hour for a network, and count for no account after that', async ({ app }) => {
  await forgetAttempts(app);
  const request = (email: string) => app.as(null).passwords.requestReset({ email });
  for (let n = 0; n < 50; n += 1) await request(`n${n}@nowhere.test`);

  for (let n = 0; n < 6; n += 1) await rejectsWith(request(GRACE), 'throttled');
  // As from another network.
  await app.db().deleteFrom('rate_limits').where('key', 'not like', 'account:%').execute();
  await request(GRACE);
});

passwords.run();
