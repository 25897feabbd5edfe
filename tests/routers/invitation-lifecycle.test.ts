import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
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

care('copying the link is recorded in the audit trail', async ({ app }) => {
  const { id, key, email } = await invite(app);

  const { url } = await app.as(ACME).invitations.copyLink({ id });
  const [entry] = await app.as(ACME).audit.list({ target: email });

  assert.is(url, app.links.invitation(key));
  assert.is(entry?.action, 'invitation.copy-link');
  assert.not.ok(JSON.stringify(entry).includes('signature'));
});

care('requires permission to invite to the client', async ({ app }) => {
  const { id } = await invite(app);

  for (const change of ['resend', 'revoke', 'copyLink'] as const) {
    await rejectsWith(app.as(GLOBEX).invitations[change]({ id }), 'not-found');
    await rejectsWith(app.as(STAFF).invitations[change]({ id }), 'forbidden');
    await rejectsWith(app.as(ADA).invitations[change]({ id }), 'forbidden');
    await rejectsWith(app.as(ACME).invitations[change]({ id: 999_999 }), 'not-found');
  }
  assert.is((await app.as(STAFF).invitations.get({ id })).id, id);
  await rejectsWith(app.as(GLOBEX).invitations.get({ id }), 'not-found');
});

care('lists by status, client and text, with pagination', async ({ app }) => {
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
  assert.equal(
    found.map(({ id, client }) => [id, client]),
    [[foreign.id, 2]],
  );
  assert.equal(await app.as(ACME).invitations.search({ client: 2 }), []);
});

care('accepts any number as offset', async ({ app }) => {
  for (const cursor of [3_000_000_000, -1, 0]) {
    const rows = await app.as(ACME).invitations.search({ status: 'all', cursor });
    assert.is(rows.length > 0, cursor > 0);
  }
});

care('sends at most 20 mails per invitation and hour', async ({ app }) => {
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
  'sends at most 20 mails per address and hour, also by repeated inviting and revoking',
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

care('sends at most 20 mails per address and hour, also with concurrent requests', async ({ app }) => {
  const email = 'rushed@new.test';
  const flood = async () => {
    for (let n = 0; n < 10; n += 1) {
      const [made] = await app
        .as(ACME)
        .invitations.create({ items: [{ email }] })
        .catch(() => []);
      if (made) await app.as(ACME).invitations.revoke({ id: made.id });
    }
  };
  await Promise.all(Array.from({ length: 6 }, flood));

  assert.is(await mailsTo(app, email), 20);
});

care('many invitations are resent or revoked, with a result for each', async ({ app }) => {
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
});

care.run();

const mailed = appSuite('invitation lifecycle with a mail server', { SMTP_URL: 'smtp://127.0.0.1:1' });

mailed('returns the link only to superusers, because it proves access to a mailbox', async ({ app }) => {
  const { id, key } = await invite(app);

  await rejectsWith(app.as(ACME).invitations.copyLink({ id }), 'forbidden');
  assert.is((await app.as(ROOT).invitations.copyLink({ id })).url, app.links.invitation(key));
});

mailed.run();
