import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { emptyOutbox, outboxOf } from '../support/mails.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';

const search = appSuite('search of invitations', { INVITATION_DAYS: '14' });

const OLD = 'old.one@guest.test';
const REVOKED = 'revoked@guest.test';
const PENDING = ['ann_a@guest.test', 'annxa@guest.test', '100%@other.test'];

search.before(async ({ app }) => {
  const invite = (email: string) => app.as(ACME).invitations.create({ items: [{ email }] });
  await invite(OLD);
  app.clock.advance(15 * DAY_MS);
  for (const email of [REVOKED, ...PENDING]) await invite(email);
  const [revoked] = await app.as(ACME).invitations.list({ search: 'revoked' });
  await app.as(ACME).invitations.revoke({ id: revoked?.id ?? 0 });
});

const lists = (app: TestApp) => [
  app.as(ACME).invitations.list,
  (filter: object) => app.as(ACME).clients.invitations({ id: 1, ...filter }),
  async (filter: object) => (await app.as(ACME).invitations.search(filter)).toReversed(),
];
const emails = (list: { email: string }[]) => list.map(({ email }) => email);

search('requires every word in the address, ignoring case', async ({ app }) => {
  for (const list of lists(app)) {
    assert.equal(emails(await list({ search: 'GUEST' })), PENDING.slice(0, 2));
    assert.equal(emails(await list({ search: 'guest annx' })), ['annxa@guest.test']);
    assert.equal(emails(await list({ search: 'ann other' })), []);
    assert.equal(emails(await list({ search: '  ' })), PENDING);
  }
});

search('treats %, _ and \\ literally', async ({ app }) => {
  for (const list of lists(app)) {
    assert.equal(emails(await list({ search: 'ann_' })), ['ann_a@guest.test']);
    assert.equal(emails(await list({ search: '%' })), ['100%@other.test']);
    assert.equal(emails(await list({ search: '\\' })), []);
  }
});

search('combines with the status, which is pending by default', async ({ app }) => {
  for (const list of lists(app)) {
    assert.equal(emails(await list({})), PENDING);
    assert.equal(emails(await list({ status: 'expired' })), [OLD]);
    assert.equal(emails(await list({ status: 'revoked', search: 'guest' })), [REVOKED]);
    assert.equal(emails(await list({ status: 'accepted' })), []);
    assert.equal(emails(await list({ status: 'all', search: 'guest' })), [
      OLD,
      REVOKED,
      ...PENDING.slice(0, 2),
    ]);
  }
});

search('finds the invitations of one request, also those that it renewed, and its mails', async ({ app }) => {
  const create = (items: { email: string }[]) => app.as(ACME).invitations.create({ items });
  await create([{ email: 'renewed@batch.test' }]);
  app.clock.advance(DAY_MS);
  const at = app.clock.now();
  await create([{ email: 'renewed@batch.test' }, { email: 'new@batch.test' }]);
  app.clock.advance(DAY_MS);
  await create([{ email: 'later@batch.test' }]);

  const found = await app.as(ACME).invitations.search({ invited_at: at });
  const expected = ['new@batch.test', 'renewed@batch.test'];
  assert.equal(emails(found as { email: string }[]).toSorted(), expected);
  const mails = await app.as(ACME).mail.list({ created_at: at });
  assert.equal(mails.map(({ recipient }) => recipient).toSorted(), expected);
  assert.equal(await app.as(GLOBEX).invitations.search({ invited_at: at }), []);
  assert.equal(await app.as(GLOBEX).mail.list({ created_at: at }), []);
});

search('combines with an app and pagination', async ({ app }) => {
  await app.as(ACME).invitations.update({ email: 'annxa@guest.test', initial_apps: ['zylTKNVx'] });

  assert.equal(emails(await app.as(ACME).invitations.list({ app: 'sales', search: 'ann' })), [
    'annxa@guest.test',
  ]);
  const second = await app.send('GET /jb/users/invitations/?search=ann&page=2&page_size=1', { as: ACME });
  assert.equal(emails(second.json()), ['annxa@guest.test']);
  assert.is(second.headers['x-count'], '2');
});

search('finds only invitations that the caller may see, and refuses an unknown status', async ({ app }) => {
  assert.equal(await app.as(GLOBEX).invitations.search({ search: 'guest' }), []);
  assert.equal(await app.as(ROOT).invitations.list({ search: 'guest' }), []);
  const refused = await app.send('GET /jb/users/invitations/?status=open', { as: ACME });
  assert.equal([refused.statusCode, Object.keys(refused.json().errors)], [400, ['status']]);
});

/** The delivery of the newest mail of each address, newest invitation first. */
const deliveries = async (app: TestApp) =>
  (await app.as(ACME).invitations.search({ search: 'delivery' })).map(({ email, mail }) =>
    [email.split('@')[0], mail?.status, mail?.last_error].join(' '),
  );

search('says whether the mail is queued, sent or failed, and why', async ({ app }) => {
  await emptyOutbox(app);
  for (const name of ['a', 'b', 'c', 'd'])
    await app.as(ACME).invitations.create({ items: [{ email: `${name}@delivery.test` }] });
  const [sent, failed, retrying] = (await outboxOf(app).claim(3)).mails.sort((a, b) => a.id - b.id);
  if (!sent || !failed || !retrying) return assert.unreachable();
  await outboxOf(app).recordDelivery(sent, { outcome: 'taken' });
  await outboxOf(app).recordDelivery(failed, {
    outcome: 'refused',
    cause: 'recipient',
    reason: 'No such box.',
  });
  await outboxOf(app).recordDelivery(retrying, {
    outcome: 'failed',
    cause: 'connection',
    reason: 'Try later.',
  });

  assert.equal(await deliveries(app), [
    'd queued ',
    'c retrying Try later.',
    'b failed No such box.',
    'a sent ',
  ]);
  const [, , refused] = await app.as(ACME).invitations.search({ search: 'delivery' });
  const resent = await app.as(ACME).invitations.resend({ id: refused?.id ?? 0 });
  assert.equal([resent.mail?.status, resent.mail?.last_error], ['queued', null]);
  assert.ok(Number(resent.mail?.id) > Number(refused?.mail?.id));
});

search('has no delivery after the retention of mails', async ({ app }) => {
  await emptyOutbox(app);

  assert.equal(await deliveries(app), ['d  ', 'c  ', 'b  ', 'a  ']);
});

search.run();
