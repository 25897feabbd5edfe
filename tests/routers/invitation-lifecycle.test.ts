import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { fieldOf, fieldsOf } from '../support/lists.ts';
import { emptyOutbox, outboxOf } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const care = appSuite('invitation lifecycle');

let invited = 0;

const invite = async (app: TestApp, as = ACME) => {
  invited += 1;
  const [invitation] = await app
    .as(as)
    .invitations.create({ items: [{ email: `guest${invited}@new.test` }] });
  if (!invitation) throw new Error('nothing was made');
  return invitation;
};

const mailsOf = (app: TestApp, id: number) =>
  app.db().selectFrom('outbox_mails').select('id').where('invitation_id', '=', id).execute();

care('invitation lifecycle resending sends another mail and restarts the expiry', async ({ app }) => {
  const { id } = await invite(app);
  app.clock.advance(10 * DAY_MS);

  const { expires_at } = await app.as(ACME).invitations.resend({ id });

  assert.is((await mailsOf(app, id)).length, 2);
  assert.is(expires_at.getTime(), app.clock.now().getTime() + 14 * DAY_MS);
});

care('invitation lifecycle revoking works once, and not after acceptance', async ({ app }) => {
  const { id } = await invite(app);

  const first = await app.as(ACME).invitations.revoke({ id });
  app.clock.advance(DAY_MS);
  const second = await app.as(ACME).invitations.revoke({ id });
  const accepted = await invite(app);
  const link = new URL(app.links.invitation(accepted.key));
  const signature = link.searchParams.get('signature') ?? '';
  await app.as(null).invitations.accept({ key: accepted.key, signature, password: 'violet-harbor-92-kite' });

  assert.is(first.status, 'revoked');
  assert.equal(second.closed_at, first.closed_at);
  for (const change of ['resend', 'copyLink'] as const) {
    await rejectsWith(app.as(ACME).invitations[change]({ id }), 'invitation-closed');
  }
  for (const change of ['revoke', 'resend', 'copyLink'] as const) {
    await rejectsWith(app.as(ACME).invitations[change]({ id: accepted.id }), 'invitation-closed');
  }
});

care('invitation lifecycle copying the link is recorded in the audit trail', async ({ app }) => {
  const { id, key, email } = await invite(app);

  const { url } = await app.as(ACME).invitations.copyLink({ id });
  const [entry] = await app.as(ACME).audit.list({ target: email });

  assert.is(url, app.links.invitation(key));
  assert.is(entry?.action, 'invitation.copy-link');
  assert.not.ok(JSON.stringify(entry).includes('signature'));
});

care('invitation lifecycle lists by status, client and text, with pagination', async ({ app }) => {
  const ids: number[] = [];
  for (let n = 0; n < 5; n += 1) ids.push((await invite(app)).id);
  const foreign = await invite(app, GLOBEX);
  await app.as(ACME).invitations.revoke({ id: ids[2] ?? 0 });
  const page = async (cursor?: number) =>
    (await app.as(ACME).invitations.search({ status: 'all', limit: 2, cursor })).map(({ id }) => id);

  const first = await page();
  const second = await page(first.at(-1));
  const revoked = await app.as(ACME).invitations.search({ status: 'revoked' });
  const found = await app.as(ROOT).invitations.search({ search: foreign.email.toUpperCase() });

  assert.equal([...first, ...second], ids.toReversed().slice(0, 4));
  assert.ok(revoked.some(({ id, status }) => id === ids[2] && status === 'revoked'));
  assert.equal(fieldsOf(found, 'id', 'client'), [[foreign.id, 2]]);
  assert.equal(await app.as(ACME).invitations.search({ client: 2 }), []);
});

care('invitation lifecycle sends at most 20 mails per invitation and hour', async ({ app }) => {
  const { id } = await invite(app);
  for (let n = 1; n < 20; n += 1) await app.as(ACME).invitations.resend({ id });

  const { retryAfterSeconds } = await rejectsWith(app.as(ACME).invitations.resend({ id }), 'throttled');
  app.clock.advance(DAY_MS);
  await app.as(ACME).invitations.resend({ id });

  assert.is(retryAfterSeconds, 3600);
  assert.is((await mailsOf(app, id)).length, 21);
});

const mailsTo = async (app: TestApp, email: string, client = 1): Promise<number> => {
  const mails = app.db().selectFrom('outbox_mails').select('id').where('recipient', '=', email);
  return (await mails.where('client_id', '=', client).execute()).length;
};

care(
  'invitation lifecycle sends at most 20 mails per address and hour, also by repeated inviting and revoking',
  async ({ app }) => {
    const email = 'flooded@new.test';
    const inviteAndRevoke = async () => {
      const [made] = await app.as(ACME).invitations.create({ items: [{ email }] });
      await app.as(ACME).invitations.revoke({ id: made?.id ?? 0 });
    };
    for (let n = 0; n < 20; n += 1) await inviteAndRevoke();

    const { retryAfterSeconds, message } = await rejectsWith(inviteAndRevoke(), 'throttled');
    const bulk = app.as(ACME).invitations.create({ items: [{ email: 'other@new.test' }, { email }] });
    await rejectsWith(bulk, 'throttled');
    await rejectsWith(app.as(ACME).clients.invite({ id: 1, email }), 'throttled');
    assert.equal(
      [retryAfterSeconds, message],
      [3600, `${email} was mailed 20 invitations by this client within an hour. Try again in an hour.`],
    );
    assert.equal([await mailsTo(app, email), await mailsTo(app, 'other@new.test')], [20, 0]);
    assert.equal(
      await app.as(ACME).invitations.search({ search: email }),
      [],
      'none is made without its mail',
    );

    await app.as(GLOBEX).invitations.create({ items: [{ email }] });
    assert.is(await mailsTo(app, email, 2), 1, 'another client has its own limit');
    app.clock.advance(DAY_MS);
    await inviteAndRevoke();
  },
);

care(
  'invitation lifecycle sends at most 20 mails per address and hour, also with concurrent requests',
  async ({ app }) => {
    const email = 'rushed@new.test';
    const flood = async () => {
      for (let n = 0; n < 4; n += 1) {
        const [made] = await app
          .as(ACME)
          .invitations.create({ items: [{ email }] })
          .catch(() => []);
        if (made) await app.as(ACME).invitations.revoke({ id: made.id });
      }
    };
    await Promise.all(Array.from({ length: 6 }, flood));

    assert.is(await mailsTo(app, email), 20);
  },
);

care(
  'invitation lifecycle many invitations are resent or revoked, with a result for each',
  async ({ app }) => {
    const [first, second] = [await invite(app), await invite(app)];
    const foreign = await invite(app, GLOBEX);
    const acme = app.as(ACME).invitations;
    const ids = [first.id, second.id, first.id];

    const resend = () =>
      app.send('POST /jb/invitations/bulk/', {
        as: ACME,
        payload: { ids, action: 'resend' },
        headers: { 'idempotency-key': 'resend-all' },
      });
    const resent = (await resend()).json();
    const repeated = (await resend()).json();
    const revoked = await acme.bulkUpdate({ ids: [first.id, foreign.id, 999_999], action: 'revoke' });
    const closed = await acme.bulkUpdate({ ids: [first.id, second.id], action: 'resend' });

    assert.equal(resent.results, [
      { id: first.id, status: 'ok', problem: null },
      { id: second.id, status: 'ok', problem: null },
    ]);
    assert.equal(repeated, resent);
    assert.is((await mailsOf(app, first.id)).length, 2);
    assert.equal(
      revoked.results.map(({ status, problem }) => problem?.code ?? status),
      ['ok', 'not-found', 'not-found'],
    );
    assert.equal(
      closed.results.map(({ status, problem }) => problem?.code ?? status),
      ['invitation-closed', 'ok'],
    );
    await rejectsWith(app.as(STAFF).invitations.bulkUpdate({ ids, action: 'revoke' }), 'forbidden');
  },
);

const mailed = appSuite('invitation lifecycle with a mail server', { SMTP_URL: 'smtp://127.0.0.1:1' });

mailed('returns the link only to superusers, because it proves access to a mailbox', async ({ app }) => {
  const { id, key } = await invite(app);

  await rejectsWith(app.as(ACME).invitations.copyLink({ id }), 'forbidden');
  assert.is((await app.as(ROOT).invitations.copyLink({ id })).url, app.links.invitation(key));
});

const setAdmin = (app: TestApp, email: string, id: number, isAdmin: boolean) =>
  app.as(ROOT).roles.setClientAdmin({ id, email, is_admin: isAdmin });

/** Ada administers both clients, invites to the second and loses that role; its admin then extends the invitation. */
const inviteAndLose = async (app: TestApp, email: string): Promise<number> => {
  await setAdmin(app, ADA, 1, true);
  await setAdmin(app, ADA, 2, true);
  const [made] = await app.as(ADA).invitations.create({ items: [{ email, client: 2 }] });
  await setAdmin(app, ADA, 2, false);
  await app.as(GLOBEX).invitations.create({
    items: [{ email, initial_apps: ['Hb7cW2ke'], extra: { note: 'of Globex' } }],
  });
  if (!made) throw new Error('nothing was made');
  return made.id;
};

const lost = appSuite('invitations after a role was lost');

lost('lists no invitations of a client that the inviter no longer administers', async ({ app }) => {
  await inviteAndLose(app, 'guest@lost.test');
  const page = await app.send('GET /jb/users/invitations/?page=1', { as: ADA });

  assert.equal([page.headers['x-count'], page.json()], ['0', []]);
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
  for (const call of ['get', 'resend', 'revoke', 'copyLink'] as const) {
    await rejectsWith(ada.invitations[call]({ id }), 'not-found');
  }
  assert.equal(await ada.mail.list({ client: 2 }), []);
  const mails = app.db().selectFrom('outbox_mails').select('id').where('invitation_id', '=', id);
  for (const mail of await mails.execute()) {
    await rejectsWith(ada.mail.get(mail), 'not-found');
    await rejectsWith(ada.mail.retry(mail), 'not-found');
  }
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
  await rejectsWith(
    app.as(STAFF).invitations.update({ email: 'by-staff@lost.test', extra: {} }),
    'forbidden',
  );
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

care.run();
mailed.run();
lost.run();
search.run();
