import { type Kysely, sql } from 'kysely';
import * as assert from 'uvu/assert';
import type { Database } from '../../../entities/index.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/lib/clock.ts';
import { emptyOutbox, INVITATION_DAYS, invite, mailTo, outboxOf } from '../../support/mails.ts';
import { ACME, ADA, appSuite, GRACE, IDLE, type TestApp } from '../../support/test-app.ts';
import { until } from '../../support/time.ts';

const outbox = appSuite('outbox');

outbox.before.each(async ({ app }) => {
  await emptyOutbox(app);
  // Requests are throttled by the real clock.
  await app.db().deleteFrom('rate_limits').execute();
});

const recipientsOf = ({ mails }: { mails: { recipient: string }[] }) => mails.map((mail) => mail.recipient);

outbox('claims are exclusive until the lease expires', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const [one, other] = [outboxOf(app, { leaseMs: 5000 }), outboxOf(app, { leaseMs: 5000 })];

  assert.equal(recipientsOf(await one.claim(5)), [email]);
  assert.is((await other.claim(5)).found, 0);
  assert.is(await other.msUntilDue(), 5000);
  app.clock.advance(4999);
  assert.is((await other.claim(5)).found, 0);
  app.clock.advance(1);
  const { mails } = await other.claim(5);

  assert.equal([mails[0]?.recipient, mails[0]?.attempts], [email, 2]);
});

outbox(
  'claims return the requested number of mails: password mails first, then the longest due',
  async ({ app }) => {
    const invitations = await invite(app, 3);
    app.clock.advance(1000);
    await app.as(null).passwords.requestReset({ email: ADA });
    await app.as(ACME).users.create({ email: 'new@acme.test', send_email: true });

    const { mails } = await outboxOf(app).claim(3);

    assert.equal(mails.map(({ kind }) => kind).sort(), ['invitation', 'password-reset', 'password-setup']);
    assert.ok(recipientsOf({ mails }).includes(invitations[0] ?? ''));
  },
);

outbox('claims return password mails before notices that were due earlier', async ({ app }) => {
  const { id: user_id } = await app
    .db()
    .selectFrom('users')
    .select('id')
    .where('email', '=', GRACE)
    .executeTakeFirstOrThrow();
  const due = app.clock.now();
  const notices = (['password-expiry', 'failed-logins'] as const).flatMap((kind) =>
    Array.from({ length: 10 }, () => ({
      kind,
      recipient: GRACE,
      user_id,
      created_at: due,
      next_attempt_at: due,
    })),
  );
  await app.db().insertInto('outbox_mails').values(notices).execute();
  app.clock.advance(1000);
  await app.as(null).passwords.requestReset({ email: ADA });

  assert.equal(recipientsOf(await outboxOf(app).claim(1)), [ADA]);
  assert.is((await outboxOf(app).claim(30)).found, notices.length, 'then the notices');
});

outbox('claims give each mail to one of many concurrent workers', async ({ app }) => {
  const emails = await invite(app, 60);

  const taken = await Promise.all(Array.from({ length: 20 }, () => outboxOf(app).claim(5)));
  const recipients = taken.flatMap(recipientsOf);

  assert.is(new Set(recipients).size, recipients.length);
  assert.equal(recipients.sort(), emails.sort());
});

outbox('claims do not wait for mails that are locked by another worker', async ({ app }) => {
  const [held = '', free = ''] = await invite(app, 2);
  await app.as(null).passwords.requestReset({ email: ADA });

  await app
    .db()
    .transaction()
    .execute(async (tx) => {
      await tx.selectFrom('outbox_mails').select('id').where('recipient', '<>', free).forUpdate().execute();
      assert.equal(recipientsOf(await outboxOf(app).claim(5)), [free]);
    });

  assert.equal(recipientsOf(await outboxOf(app).claim(5)).sort(), [ADA, held]);
});

outbox('claims report mails that are obsolete, and do not send them', async ({ app }) => {
  await invite(app, 5);
  await app.db().updateTable('invitations').set({ status: 'revoked' }).execute();
  const outbox = outboxOf(app);

  assert.equal(await outbox.claim(5), { mails: [], found: 5 });
  const emails = await invite(app, 5);
  assert.equal(recipientsOf(await outbox.claim(5)).sort(), emails.sort());
});

outbox('claims are not expected of mails that were sent or refused', async ({ app }) => {
  const outbox = outboxOf(app);
  await invite(app, 2);
  for (const email of [ADA, GRACE]) await app.as(null).passwords.requestReset({ email });
  const { mails } = await outbox.claim(4);
  const refused = { outcome: 'refused', cause: 'recipient', reason: 'No such mailbox.' } as const;

  // One of each kind is sent and the other refused.
  for (const [index, mail] of mails.toSorted((a, b) => a.kind.localeCompare(b.kind)).entries())
    await outbox.recordDelivery(mail, index % 2 === 0 ? { outcome: 'taken' } : refused);

  assert.is(mails.filter(({ kind }) => kind === 'invitation').length, 2);
  assert.is(mails.length, 4);
  assert.is(await outbox.msUntilDue(), null);
});

outbox('claims can be released without effect', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const before = await mailTo(app, email);
  const outbox = outboxOf(app);
  const { mails } = await outbox.claim(1);

  await outbox.release(mails);

  assert.equal(await mailTo(app, email), before);
});

const TAKEN = { outcome: 'taken' } as const;

const FAILED = { outcome: 'failed', cause: 'connection', reason: 'Try later.' } as const;

const REFUSED = { outcome: 'refused', cause: 'recipient', reason: 'No such mailbox.' } as const;

const invitationOf = (app: TestApp, email: string) =>
  app.db().selectFrom('invitations').selectAll().where('email', '=', email).executeTakeFirstOrThrow();

const claimOnly = async (app: TestApp) => {
  const [mail] = (await outboxOf(app).claim(1)).mails;
  if (!mail) throw new Error('nothing was due');
  return mail;
};

outbox('results are counted in the invitation, which restarts its expiry', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const mail = await claimOnly(app);
  app.clock.advance(DAY_MS);

  await outboxOf(app).recordDelivery(mail, TAKEN);
  const invitation = await invitationOf(app, email);
  const sent = await mailTo(app, email);

  assert.is(invitation.email_count, 1);
  assert.equal(
    invitation.expires_at,
    new Date(mail.variables.link_expires_at),
    'the end that the mail states',
  );
  assert.equal([sent.sent_at, sent.last_error, sent.failed_at], [app.clock.now(), null, null]);
});

outbox('results keep the expiry of an invitation that was accepted or that lasts longer', async ({ app }) => {
  const [accepted = '', lasting = ''] = await invite(app, 2);
  const outbox = outboxOf(app);
  const { mails } = await outbox.claim(5);
  const far = new Date(app.clock.now().getTime() + 99 * DAY_MS);
  const change = (email: string, values: object) =>
    app.db().updateTable('invitations').set(values).where('email', '=', email).execute();
  await change(accepted, { status: 'accepted' });
  await change(lasting, { expires_at: far });
  const before = await invitationOf(app, accepted);
  app.clock.advance(DAY_MS);

  for (const mail of mails) await outbox.recordDelivery(mail, TAKEN);

  assert.equal(await invitationOf(app, accepted), { ...before, email_count: 1 });
  assert.equal((await invitationOf(app, lasting)).expires_at, far);
});

outbox('results count a mail once if two workers have sent it', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const first = await claimOnly(app);
  app.clock.advance(10 * MINUTE_MS);
  const second = await claimOnly(app);

  await Promise.all([
    outboxOf(app).recordDelivery(first, TAKEN),
    outboxOf(app).recordDelivery(second, TAKEN),
    outboxOf(app).recordDelivery(first, TAKEN),
  ]);

  assert.is((await invitationOf(app, email)).email_count, 1);
});

outbox('results count after their lease has expired only if the attempt succeeded', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const first = await claimOnly(app);
  app.clock.advance(10 * MINUTE_MS);
  const second = await claimOnly(app);
  const claimed = await mailTo(app, email);

  await outboxOf(app).recordDelivery(first, FAILED);
  await outboxOf(app).recordDelivery(first, REFUSED);
  await outboxOf(app).release([first]);
  assert.equal(await mailTo(app, email), claimed);
  await outboxOf(app).recordDelivery(first, TAKEN);
  await outboxOf(app).recordDelivery(second, FAILED);

  const { sent_at, last_error } = await mailTo(app, email);
  assert.equal([sent_at, last_error], [app.clock.now(), null]);
});

outbox(
  'results delay a failed mail by one minute, two, four … four hours, and give up after three days',
  async ({ app }) => {
    const [email = ''] = await invite(app, 1);
    const made = app.clock.now().getTime();
    const waits: number[] = [];
    for (;;) {
      await outboxOf(app).recordDelivery(await claimOnly(app), FAILED);
      const mail = await mailTo(app, email);
      assert.is(mail.last_error, FAILED.reason);
      if (mail.failed_at) break;
      const waitMs = mail.next_attempt_at.getTime() - app.clock.now().getTime();
      waits.push(waitMs / MINUTE_MS);
      app.clock.advance(waitMs);
    }

    const isNear = (wait: number, base: number) => wait >= base && wait <= base * 1.25;
    for (const [index, base] of [1, 2, 4, 8, 16, 32, 64, 128].entries()) {
      assert.ok(isNear(waits[index] ?? 0, base), `${waits[index]} min after try ${index + 1}`);
    }
    assert.ok(
      waits.slice(8).every((wait) => wait === 240),
      waits.join(),
    );
    const ageMs = app.clock.now().getTime() - made;
    assert.ok(ageMs >= 3 * DAY_MS && ageMs < 3 * DAY_MS + 240 * MINUTE_MS);
    assert.is((await outboxOf(app).claim(5)).found, 0);
  },
);

outbox('results give up on a refused mail at once', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  await outboxOf(app).recordDelivery(await claimOnly(app), REFUSED);
  const { failed_at, last_error, sent_at } = await mailTo(app, email);

  assert.equal([failed_at, last_error, sent_at], [app.clock.now(), REFUSED.reason, null]);
  app.clock.advance(DAY_MS);
  assert.is((await outboxOf(app).claim(5)).found, 0);
});

outbox('results give up on mails of closed invitations and to invalid addresses', async ({ app }) => {
  const emails = await invite(app, 4);
  const set = (index: number, values: object) =>
    app
      .db()
      .updateTable('invitations')
      .set(values)
      .where('email', '=', emails[index] ?? '')
      .execute();
  await set(0, { status: 'accepted' });
  await set(1, { status: 'revoked' });
  await set(2, { expires_at: app.clock.now() });
  await app
    .db()
    .updateTable('outbox_mails')
    .set({ recipient: 'a@b.test, c@d.test' })
    .where('recipient', '=', emails[3] ?? '')
    .execute();

  assert.equal(await outboxOf(app).claim(5), { mails: [], found: 4 });
  const mails = await app.db().selectFrom('outbox_mails').selectAll().orderBy('id').execute();

  assert.equal(
    mails.map((mail) => mail.last_error),
    [
      'The invitation has been accepted.',
      'The invitation has been revoked.',
      'The invitation has expired.',
      'Mail cannot be sent to this address.',
    ],
  );
  assert.ok(mails.every((mail) => mail.failed_at && !mail.sent_at));
});

const countMails = async (app: TestApp) =>
  (await app.db().selectFrom('outbox_mails').select('id').execute()).length;

outbox(
  'pruning deletes mails that were sent or given up 30 days ago in batches, and keeps pending ones',
  async ({ app }) => {
    await invite(app, 2500);
    await app.db().updateTable('outbox_mails').set({ sent_at: app.clock.now() }).execute();
    await invite(app, 3);
    const [refused] = (await outboxOf(app).claim(1)).mails;
    if (!refused) return assert.unreachable();
    await outboxOf(app).recordDelivery(refused, {
      outcome: 'refused',
      cause: 'recipient',
      reason: 'No such mailbox.',
    });

    app.clock.advance(30 * DAY_MS);
    await outboxOf(app).prune({ isSent: true });
    assert.is(await countMails(app), 2503);
    app.clock.advance(1);
    await outboxOf(app).prune({ isSent: true });

    assert.is(await countMails(app), 2);
  },
);

outbox('pruning deletes expired links only', async ({ app }) => {
  const countLinks = async () => (await app.db().selectFrom('password_links').select('id').execute()).length;
  await app.as(null).passwords.requestReset({ email: ADA });
  await outboxOf(app).claim(5);

  app.clock.advance(60 * MINUTE_MS - 1);
  await outboxOf(app).prune({ isSent: true });
  assert.is(await countLinks(), 1);
  app.clock.advance(1);
  await outboxOf(app).prune({ isSent: true });
  assert.is(await countLinks(), 0);
});

outbox('pruning ends obsolete mails without a mail server', async ({ app }) => {
  const [revoked = '', pending = ''] = await invite(app, 2);
  await app.db().updateTable('invitations').set({ status: 'revoked' }).where('email', '=', revoked).execute();

  await outboxOf(app).prune({ isSent: true });
  assert.is((await mailTo(app, revoked)).failed_at, null);
  await outboxOf(app).prune({ isSent: false });

  assert.is((await mailTo(app, revoked)).last_error, 'The invitation has been revoked.');
  assert.equal((await mailTo(app, revoked)).failed_at, app.clock.now());
  assert.is((await mailTo(app, pending)).failed_at, null);
});

const request = (app: TestApp, email: string) => app.as(null).passwords.requestReset({ email });

const tokenIn = (text: string): string => decodeURIComponent(/token=(\S+)/.exec(text)?.[1] ?? '');

const linksOf = (app: TestApp, email: string) =>
  app
    .db()
    .selectFrom('password_links')
    .innerJoin('users', 'users.id', 'password_links.user_id')
    .select(['password_links.id', 'password_links.expires_at'])
    .where('users.email', '=', email)
    .execute();

let made = 0;

const makeUser = async (app: TestApp): Promise<string> => {
  const email = `new-${++made}@acme.test`;
  await app.as(ACME).users.create({ email, send_email: true });
  return email;
};

outbox(
  'links are created for the user with the requested address, and valid for an hour from the request',
  async ({ app }) => {
    await request(app, ADA.toUpperCase());
    const asked = app.clock.now().getTime();
    app.clock.advance(5 * MINUTE_MS);

    const outbox = outboxOf(app);
    const [mail] = (await outbox.claim(5)).mails;
    const [link] = await linksOf(app, ADA);
    if (!mail) return assert.unreachable();
    const opened = await app.as(null).passwords.verifyToken({ token: tokenIn(outbox.write(mail).text) });

    assert.is(opened.email, ADA);
    assert.is(link?.expires_at.getTime(), asked + 60 * MINUTE_MS);
  },
);

outbox(
  'links are not created for unknown or inactive users, whose mails are deleted or ended',
  async ({ app }) => {
    await request(app, 'unknown@guest.test');
    await request(app, IDLE);
    const leaving = await makeUser(app);
    await app.as(ACME).users.deactivate({ email: leaving });

    assert.equal(await outboxOf(app).claim(5), { mails: [], found: 3 });
    const mails = await app.db().selectFrom('outbox_mails').select(['recipient', 'last_error']).execute();

    assert.equal(mails, [{ recipient: leaving, last_error: 'The account has been deactivated.' }]);
    for (const email of [IDLE, leaving]) assert.is((await linksOf(app, email)).length, 0);
  },
);

outbox('links are created for new users, and valid as long as invitations', async ({ app }) => {
  const email = await makeUser(app);
  const created = app.clock.now().getTime();
  app.clock.advance(DAY_MS);

  const { mails } = await outboxOf(app).claim(5);
  const [link] = await linksOf(app, email);

  assert.is(mails.length, 1);
  assert.is(link?.expires_at.getTime(), created + INVITATION_DAYS * DAY_MS);
});

outbox('links are created once by concurrent workers', async ({ app }) => {
  const email = await makeUser(app);
  await request(app, GRACE);
  const outboxes = Array.from({ length: 6 }, () => outboxOf(app));

  await Promise.all(outboxes.flatMap((outbox) => [outbox.createLinks(), outbox.claim(5)]));
  app.clock.advance(10 * MINUTE_MS);
  await outboxOf(app).claim(5);

  assert.is((await linksOf(app, email)).length, 1);
  assert.is((await linksOf(app, GRACE)).length, 1);
});

outbox('links are also created without sending, so that the mail can be viewed', async ({ app }) => {
  const email = await makeUser(app);
  await request(app, 'unknown@guest.test');

  assert.is(await outboxOf(app).createLinks(), 2);
  assert.is(await outboxOf(app).createLinks(), 0);
  const mail = await mailTo(app, email);

  assert.equal([mail.attempts, mail.sent_at, mail.failed_at], [0, null, null]);
  assert.equal(
    (await linksOf(app, email)).map(({ id }) => id),
    [mail.password_link_id],
  );
});

outbox(
  'links are not created again after use, nor if the password was set after the request',
  async ({ app }) => {
    const email = await makeUser(app);
    const outbox = outboxOf(app);
    const [setup] = (await outbox.claim(5)).mails;
    if (!setup) return assert.unreachable();
    await request(app, email);
    app.clock.advance(1000);
    const token = tokenIn(outbox.write(setup).text);
    await app.as(null).passwords.reset({ token, password: 'a long and unusual one' });
    app.clock.advance(10 * MINUTE_MS);

    assert.equal(await outbox.claim(5), { mails: [], found: 2 });
    const mails = await app.db().selectFrom('outbox_mails').selectAll().execute();

    for (const mail of mails) {
      assert.is(mail.last_error, 'The link has been used or replaced.');
      assert.equal(mail.failed_at, app.clock.now());
    }
    assert.is((await linksOf(app, email)).length, 0);
  },
);

/** The result of a claim that has to wait for a transaction that locks the users. */
const claimDuring = async (
  app: TestApp,
  before: (tx: Kysely<Database>) => Promise<unknown>,
  after: (tx: Kysely<Database>) => Promise<unknown> = async () => {},
) => {
  const { claiming } = await app
    .db()
    .transaction()
    .execute(async (tx) => {
      await before(tx);
      const claim = outboxOf(app).claim(5);
      await until('the claim waits', async () => {
        const { rows } = await sql`select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(app.db());
        return rows.length > 0;
      });
      await after(tx);
      // Wrapped in an object, because it can only settle after this transaction.
      return { claiming: claim };
    });
  return claiming;
};

outbox(
  'concurrent changes of links do not deadlock with ending the links of the same user',
  async ({ app }) => {
    await request(app, ADA);
    const [linked] = (await outboxOf(app).claim(5)).mails;
    app.clock.advance(10 * MINUTE_MS);
    await request(app, ADA);
    const ada = (tx: Kysely<Database>) => tx.selectFrom('users').select('id').where('email', '=', ADA);

    const { mails } = await claimDuring(
      app,
      (tx) => ada(tx).forUpdate().execute(),
      (tx) => tx.deleteFrom('password_links').where('user_id', '=', ada(tx)).execute(),
    );
    const ended = await app
      .db()
      .selectFrom('outbox_mails')
      .select('id')
      .where('failed_at', 'is not', null)
      .execute();

    assert.is(mails.length, 1);
    assert.equal(ended, [{ id: linked?.id }]);
  },
);

outbox(
  'concurrent changes of links do not deadlock with a change of the address that a link waits to be sent to',
  async ({ app }) => {
    await app.as(ACME).users.create({ email: 'waits@acme.test', send_email: true });
    const waiting = (tx: Kysely<Database>) =>
      tx.selectFrom('users').select('id').where('email', '=', 'waits@acme.test');

    const { mails } = await claimDuring(
      app,
      (tx) => waiting(tx).forUpdate().execute(),
      (tx) =>
        tx
          .updateTable('outbox_mails')
          .set({ recipient: 'elsewhere@acme.test' })
          .where('user_id', '=', waiting(tx))
          .execute(),
    );

    assert.equal(
      mails.map(({ recipient, link }) => [recipient, link !== null]),
      [['elsewhere@acme.test', true]],
    );
  },
);

outbox(
  'concurrent changes of links do not wait for a change of the person whose mail they claim',
  async ({ app }) => {
    const ada = app.db().selectFrom('users').select('id').where('email', '=', ADA);
    const { id: user_id } = await ada.executeTakeFirstOrThrow();
    const due = { created_at: app.clock.now(), next_attempt_at: app.clock.now() };
    await app
      .db()
      .insertInto('outbox_mails')
      .values({ kind: 'password-changed', recipient: ADA, user_id, ...due })
      .execute();

    // A claim that waited would hold the mail, for which the change waits in turn.
    const { mails } = await app
      .db()
      .transaction()
      .execute(async (tx) => {
        await tx.selectFrom('users').select('id').where('id', '=', user_id).forUpdate().execute();
        return outboxOf(app).claim(5);
      });

    assert.equal(
      mails.map(({ recipient, attempts }) => [recipient, attempts]),
      [[ADA, 1]],
    );
  },
);

outbox('concurrent changes of links create no link for a user who is being deactivated', async ({ app }) => {
  const setActive = (db: Kysely<Database>, isActive: boolean) =>
    db.updateTable('users').set({ is_active: isActive }).where('email', '=', ADA).execute();
  await request(app, ADA);

  const { mails } = await claimDuring(app, (tx) => setActive(tx, false));
  await setActive(app.db(), true);

  assert.equal(mails, []);
  assert.equal(await app.db().selectFrom('outbox_mails').select('id').execute(), []);
});

outbox(
  'concurrent changes of links give every claimed mail a link, even if many are created at once',
  async ({ app }) => {
    const now = app.clock.now().getTime();
    // The newest mails are due first, but get their links last.
    const rows = Array.from({ length: 250 }, (_, index) => ({
      kind: 'password-reset' as const,
      recipient: ADA,
      created_at: new Date(now),
      next_attempt_at: new Date(now - index),
    }));
    await app.db().insertInto('outbox_mails').values(rows).execute();

    const alone = await outboxOf(app).claim(5);
    const together = await Promise.all(Array.from({ length: 10 }, () => outboxOf(app).claim(5)));
    const mails = [alone, ...together].flatMap((claim) => claim.mails);

    assert.is(alone.mails.length, 5);
    for (const mail of mails) assert.type(mail.link?.id, 'number');
    assert.is(new Set(mails.map((mail) => mail.link?.id)).size, mails.length);
  },
);

outbox.run();
