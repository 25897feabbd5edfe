import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { fieldOf, fieldsOf } from '../support/lists.ts';
import { emptyOutbox, outboxOf } from '../support/mails.ts';
import { invitationLink } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { rowsOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { FLEET } from '../support/usage.ts';

const care = appSuite('invitation lifecycle');

let invited = 0;

const invite = async (app: TestApp, as = ACME) => {
  invited += 1;
  const items = [{ email: `guest${invited}@new.test` }];
  const [invitation] = await app.as(as).invitations.create({ items });
  if (!invitation) throw new Error('nothing was made');
  return invitation;
};

const mailsOf = (app: TestApp, invitation_id: number) => rowsOf(app, 'outbox_mails', { invitation_id });

care('resending sends another mail and restarts the expiry', async ({ app }) => {
  const { id } = await invite(app);
  app.clock.advance(10 * DAY_MS);

  const { expires_at } = await app.as(ACME).invitations.resend({ id });

  assert.is((await mailsOf(app, id)).length, 2);
  assert.is(expires_at.getTime(), app.clock.now().getTime() + 14 * DAY_MS);
});

care('revoking works once, and not after acceptance', async ({ app }) => {
  const { id } = await invite(app);

  const first = await app.as(ACME).invitations.revoke({ id });
  app.clock.advance(DAY_MS);
  const second = await app.as(ACME).invitations.revoke({ id });
  const accepted = await invite(app);
  const link = invitationLink(app, accepted.key);
  await app.as(null).invitations.accept({ ...link, password: 'violet-harbor-92-kite' });

  assert.is(first.status, 'revoked');
  assert.equal(second.closed_at, first.closed_at);
  for (const change of ['resend', 'copyLink'] as const)
    for (const closed of [id, accepted.id])
      await rejectsWith(app.as(ACME).invitations[change]({ id: closed }), 'invitation-closed');
  await rejectsWith(app.as(ACME).invitations.revoke({ id: accepted.id }), 'invitation-closed');
});

care('copying the link is recorded in the audit trail', async ({ app }) => {
  const { id, key, email } = await invite(app);

  const { url } = await app.as(ACME).invitations.copyLink({ id });
  const [entry] = await app.as(ACME).audit.list({ target: email });

  assert.is(url, app.links.invitation(key));
  assert.is(entry?.action, 'invitation.copy-link');
  assert.not.ok(JSON.stringify(entry).includes('signature'));
});

care('copying many links is recorded for each, and tells which invitations have none', async ({ app }) => {
  const [open, closed, foreign] = [await invite(app), await invite(app), await invite(app, GLOBEX)];
  await app.as(ACME).invitations.revoke({ id: closed.id });

  const { results } = await app
    .as(ACME)
    .invitations.copyLinks({ ids: [open.id, closed.id, foreign.id, open.id] });

  const [first, ...others] = results;
  assert.equal([first?.email, first?.url], [open.email, app.links.invitation(open.key)]);
  assert.equal(
    others.map(({ id, url, problem }) => [id, url, problem?.code]),
    [
      [closed.id, null, 'invitation-closed'],
      [foreign.id, null, 'not-found'],
    ],
  );
  const [entry] = await app.as(ACME).audit.list({ target: open.email });
  assert.is(entry?.action, 'invitation.copy-link');
});

care('copying many links needs one connection at a time, also with an idempotency key', async ({ app }) => {
  const ids = [(await invite(app)).id];
  const copy = (key: string) =>
    app.send('POST /jb/invitations/links/', {
      as: ACME,
      payload: { ids },
      headers: { 'idempotency-key': key },
    });
  const keys = Array.from({ length: 30 }, (_, n) => `links-${n}`);

  const copied = await Promise.all(keys.map(copy));
  assert.equal([...new Set(copied.map(({ statusCode }) => statusCode))], [200]);
});

care('lists pages of all, the newest first, and those of a client', async ({ app }) => {
  const ids: number[] = [];
  for (let n = 0; n < 5; n += 1) ids.push((await invite(app)).id);
  const foreign = await invite(app, GLOBEX);
  const { search } = app.as(ACME).invitations;
  const page = async (cursor?: number) => fieldOf(await search({ status: 'all', limit: 2, cursor }), 'id');

  const first = await page();
  assert.equal([...first, ...(await page(first.at(-1)))], ids.toReversed().slice(0, 4));
  const found = await app.as(ROOT).invitations.search({ search: foreign.email.toUpperCase() });
  assert.equal(fieldsOf(found, 'id', 'client'), [[foreign.id, 2]]);
  assert.equal(await search({ client: 2 }), []);
});

const mailsTo = async (app: TestApp, recipient: string, client_id = 1): Promise<number> =>
  (await rowsOf(app, 'outbox_mails', { recipient, client_id })).length;

care('sends at most 20 mails per address and hour, also by inviting and revoking', async ({ app }) => {
  const email = 'flooded@new.test';
  const { create, resend, revoke, search } = app.as(ACME).invitations;
  const inviteAndRevoke = async () => {
    const [made] = await create({ items: [{ email }] });
    await revoke({ id: made?.id ?? 0 });
  };
  for (let n = 0; n < 18; n += 1) await inviteAndRevoke();
  const [{ id } = { id: 0 }] = await create({ items: [{ email }] });
  await resend({ id });

  await rejectsWith(resend({ id }), 'throttled');
  await revoke({ id });
  const { retryAfterSeconds, message } = await rejectsWith(inviteAndRevoke(), 'throttled');
  await rejectsWith(create({ items: [{ email: 'other@new.test' }, { email }] }), 'throttled');
  await rejectsWith(app.as(ACME).clients.invite({ id: 1, email }), 'throttled');
  assert.is(retryAfterSeconds, 3600);
  assert.match(message, `${email} was mailed 20 invitations by this client within an hour.`);
  assert.equal([await mailsTo(app, email), await mailsTo(app, 'other@new.test')], [20, 0]);
  assert.equal(await search({ search: email }), [], 'none is made without its mail');

  await app.as(GLOBEX).invitations.create({ items: [{ email }] });
  assert.is(await mailsTo(app, email, 2), 1, 'another client has its own limit');
  app.clock.advance(DAY_MS);
  await inviteAndRevoke();
});

care('sends at most 20 mails per address and hour, also with concurrent requests', async ({ app }) => {
  const email = 'rushed@new.test';
  const { create, revoke } = app.as(ACME).invitations;
  const flood = async () => {
    for (let n = 0; n < 4; n += 1) {
      const [made] = await create({ items: [{ email }] }).catch(() => []);
      if (made) await revoke({ id: made.id });
    }
  };
  await Promise.all(Array.from({ length: 6 }, flood));

  assert.is(await mailsTo(app, email), 20);
});

care('many invitations are resent or revoked, with a result for each', async ({ app }) => {
  const [first, second, foreign] = [await invite(app), await invite(app), await invite(app, GLOBEX)];
  const { bulkUpdate } = app.as(ACME).invitations;
  const ids = [first.id, second.id, first.id];
  const codes = ({ results }: Awaited<ReturnType<typeof bulkUpdate>>) =>
    results.map(({ status, problem }) => problem?.code ?? status);

  const resent = await bulkUpdate({ ids, action: 'resend' });
  assert.equal(fieldsOf(resent.results, 'id', 'status', 'problem'), [
    [first.id, 'ok', null],
    [second.id, 'ok', null],
  ]);
  assert.is((await mailsOf(app, first.id)).length, 2);
  const revoked = await bulkUpdate({ ids: [first.id, foreign.id, 999_999], action: 'revoke' });
  assert.equal(codes(revoked), ['ok', 'not-found', 'not-found']);
  const closed = await bulkUpdate({ ids: [first.id, second.id], action: 'resend' });
  assert.equal(codes(closed), ['invitation-closed', 'ok']);
  await rejectsWith(app.as(STAFF).invitations.bulkUpdate({ ids, action: 'revoke' }), 'forbidden');
});

const mailed = appSuite('with a mail server', { SMTP_URL: 'smtp://127.0.0.1:1' });

mailed('returns the link only to superusers, because it proves access to a mailbox', async ({ app }) => {
  const { id, key } = await invite(app);

  await rejectsWith(app.as(ACME).invitations.copyLink({ id }), 'forbidden');
  assert.is((await app.as(ROOT).invitations.copyLink({ id })).url, app.links.invitation(key));
  const { results } = await app.as(ACME).invitations.copyLinks({ ids: [id] });
  assert.equal(fieldOf(results, 'url'), [null]);
});

const setAdmin = (app: TestApp, email: string, id: number, isAdmin: boolean) =>
  app.as(ROOT).roles.setClientAdmin({ id, email, is_admin: isAdmin });

/** Ada administers both clients, invites to the second and loses that role; its admin then extends the invitation. */
const inviteAndLose = async (app: TestApp, email: string): Promise<number> => {
  await setAdmin(app, ADA, 1, true);
  await setAdmin(app, ADA, 2, true);
  const [made] = await app.as(ADA).invitations.create({ items: [{ email, client: 2 }] });
  await setAdmin(app, ADA, 2, false);
  const items = [{ email, initial_apps: [FLEET], extra: { note: 'of Globex' } }];
  await app.as(GLOBEX).invitations.create({ items });
  if (!made) throw new Error('nothing was made');
  return made.id;
};

const lost = appSuite('invitations after a role was lost');

lost('lists no invitations of a client that the inviter no longer administers', async ({ app }) => {
  await inviteAndLose(app, 'guest@lost.test');
  for (const status of ['pending', 'all'] as const) {
    assert.equal(await app.as(ADA).invitations.list({ status }), []);
    assert.equal(await app.as(ADA).invitations.search({ status }), []);
  }

  await setAdmin(app, ADA, 2, true);
  const [again] = await app.as(ADA).invitations.list({});
  assert.equal(again?.extra, { note: 'of Globex' }, 'it is listed again with the role');
});

lost('refuses to let the inviter change, mail, revoke or read them', async ({ app }) => {
  const email = 'care@lost.test';
  const id = await inviteAndLose(app, email);
  const ada = app.as(ADA);

  await rejectsWith(ada.invitations.pending({ email }), 'not-found');
  await rejectsWith(ada.invitations.update({ email, extra: {} }), 'not-found');
  await rejectsWith(ada.invitations.update({ email, client: 2, extra: {} }), 'not-found');
  for (const call of ['get', 'resend', 'revoke', 'copyLink'] as const)
    await rejectsWith(ada.invitations[call]({ id }), 'not-found');
  assert.equal(await ada.mail.list({ client: 2 }), []);
  for (const mail of await mailsOf(app, id))
    for (const call of ['get', 'retry'] as const)
      await rejectsWith(ada.mail[call]({ id: Number(mail.id) }), 'not-found');
});

lost('refuses a user who has lost every role', async ({ app }) => {
  await inviteAndLose(app, 'all@lost.test');
  await setAdmin(app, ADA, 1, false);

  await rejectsWith(app.as(ADA).invitations.list({}), 'forbidden');
  await rejectsWith(app.as(ADA).mail.list({}), 'forbidden');
});

lost('lists to staff the invitations that they created as a client admin', async ({ app }) => {
  await setAdmin(app, STAFF, 1, true);
  await app.as(STAFF).invitations.create({ items: [{ email: 'by-staff@lost.test' }] });
  await setAdmin(app, STAFF, 1, false);

  const listed = await app.as(STAFF).invitations.list({});
  assert.equal(fieldOf(listed, 'email'), ['by-staff@lost.test']);
  const change = app.as(STAFF).invitations.update({ email: 'by-staff@lost.test', extra: {} });
  await rejectsWith(change, 'forbidden');
});

const OLD = 'old.one@guest.test';

const REVOKED = 'revoked@guest.test';

const PENDING = ['ann_a@guest.test', 'annxa@guest.test', '100%@other.test'];

const search = appSuite('search of invitations');

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

const emails = (list: { email: string }[]) => fieldOf(list, 'email');

search('requires every word in the address, literally and ignoring case', async ({ app }) => {
  for (const list of lists(app))
    for (const [words, found] of Object.entries({
      GUEST: PENDING.slice(0, 2),
      'guest annx': ['annxa@guest.test'],
      'ann other': [],
      '  ': PENDING,
      ann_: ['ann_a@guest.test'],
      '%': ['100%@other.test'],
      '\\': [],
    }))
      assert.equal(emails(await list({ search: words })), found, words);
});

search('combines with the status, which is pending by default', async ({ app }) => {
  for (const list of lists(app)) {
    assert.equal(emails(await list({})), PENDING);
    assert.equal(emails(await list({ status: 'expired' })), [OLD]);
    assert.equal(emails(await list({ status: 'revoked', search: 'guest' })), [REVOKED]);
    assert.equal(emails(await list({ status: 'accepted' })), []);
    const all = emails(await list({ status: 'all', search: 'guest' }));
    assert.equal(all, [OLD, REVOKED, ...PENDING.slice(0, 2)]);
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
  assert.equal(emails(found).toSorted(), expected);
  const mails = await app.as(ACME).mail.list({ created_at: at });
  assert.equal(fieldOf(mails, 'recipient').toSorted(), expected);
  assert.equal(await app.as(GLOBEX).invitations.search({ invited_at: at }), []);
  assert.equal(await app.as(GLOBEX).mail.list({ created_at: at }), []);
});

search('finds only invitations that the caller may see', async ({ app }) => {
  assert.equal(await app.as(GLOBEX).invitations.search({ search: 'guest' }), []);
  assert.equal(await app.as(ROOT).invitations.list({ search: 'guest' }), []);
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
  const { recordDelivery } = outboxOf(app);
  await recordDelivery(sent, { outcome: 'taken' });
  await recordDelivery(failed, { outcome: 'refused', cause: 'recipient', reason: 'No box.' });
  await recordDelivery(retrying, { outcome: 'failed', cause: 'connection', reason: 'Later.' });

  assert.equal(await deliveries(app), ['d queued ', 'c retrying Later.', 'b failed No box.', 'a sent ']);
  const [, , refused] = await app.as(ACME).invitations.search({ search: 'delivery' });
  const resent = await app.as(ACME).invitations.resend({ id: refused?.id ?? 0 });
  assert.equal([resent.mail?.status, resent.mail?.last_error], ['queued', null]);
  assert.ok(Number(resent.mail?.id) > Number(refused?.mail?.id));
  await emptyOutbox(app);
  assert.equal(await deliveries(app), ['d  ', 'c  ', 'b  ', 'a  '], 'after the retention of mails');
});

care.run();
mailed.run();
lost.run();
search.run();
