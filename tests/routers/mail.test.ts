import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { emptyOutbox, invite, mailTo, outboxOf } from '../support/mails.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const mails = appSuite('mails');

mails.before.each(async ({ app }) => {
  await emptyOutbox(app);
  await app.db().deleteFrom('rate_limits').execute();
});

const recipientsFor = async (app: TestApp, who: string, filter = {}) =>
  (await app.as(who).mail.list(filter)).map((mail) => mail.recipient);

/** An invitation to each client, and a password reset for a user of each. */
const oweSome = async (app: TestApp) => {
  const [acme = ''] = await invite(app, 1);
  const globex = `globex-${acme}`;
  await app.as(GLOBEX).clients.invite({ id: 2, email: globex, initial_apps: [] });
  for (const email of [ADA, EDSGER, ROOT]) await app.as(null).passwords.requestReset({ email });
  await outboxOf(app).createLinks();
  return { acme, globex };
};

mails(
  'are all visible to superusers and staff, and those of their clients to client admins',
  async ({ app }) => {
    const { acme, globex } = await oweSome(app);

    assert.equal(await recipientsFor(app, ROOT), [ROOT, EDSGER, ADA, globex, acme]);
    assert.equal(await recipientsFor(app, STAFF), [ROOT, EDSGER, ADA, globex, acme]);
    assert.equal(await recipientsFor(app, ACME), [ADA, acme]);
    assert.equal(await recipientsFor(app, GLOBEX), [EDSGER, globex]);
    await rejectsWith(app.as(ADA).mail.list({}), 'forbidden');
    const { id } = await mailTo(app, globex);
    await rejectsWith(app.as(ACME).mail.get({ id }), 'not-found');
    await rejectsWith(app.as(ACME).mail.retry({ id }), 'not-found');
    await rejectsWith(app.as(ROOT).mail.get({ id: 999_999 }), 'not-found');
  },
);

mails('that failed are left out of the failed ones when the invitation was mailed again', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const outbox = outboxOf(app);
  const refuseAll = async (): Promise<void> => {
    for (const mail of (await outbox.claim(10)).mails)
      await outbox.recordDelivery(mail, {
        outcome: 'refused',
        cause: 'recipient',
        reason: 'No such mailbox.',
      });
  };
  const failed = async () => (await app.as(ACME).mail.list({ status: 'failed' })).map(({ id }) => id);
  await refuseAll();
  const [first] = await failed();
  assert.type(first, 'number');

  const [invitation] = (await app.as(ACME).invitations.search({ search: email })) as { id: number }[];
  await app.as(ACME).invitations.resend({ id: invitation?.id ?? 0 });
  assert.equal(await failed(), [], 'the mail of the resend is queued');
  assert.is((await app.as(ACME).attention.get()).failed_mails.count, 0);
  await refuseAll();
  const again = await failed();
  assert.is(again.length, 1, 'one row for the invitation');
  assert.is.not(again[0], first);
  assert.is((await app.as(ACME).mail.list({ recipient: email })).length, 2, 'both are in the list of all');
});

mails('have a status', async ({ app }) => {
  const emails = await invite(app, 4);
  const outbox = outboxOf(app);
  const claimed = (await outbox.claim(4)).mails.sort((a, b) => a.id - b.id);
  const [, sent, retrying, failed] = claimed;
  if (!claimed[0] || !sent || !retrying || !failed) return assert.unreachable();
  await outbox.release([claimed[0]]);
  await outbox.recordDelivery(sent, { outcome: 'taken' });
  await outbox.recordDelivery(retrying, { outcome: 'failed', cause: 'connection', reason: 'Try later.' });
  await outbox.recordDelivery(failed, { outcome: 'refused', cause: 'recipient', reason: 'No such mailbox.' });

  for (const [index, status] of (['queued', 'sent', 'retrying', 'failed'] as const).entries()) {
    assert.equal(await recipientsFor(app, ACME, { status }), [emails[index]], status);
  }
  const [mail] = await app.as(ACME).mail.list({ status: 'failed' });
  assert.equal(mail, {
    id: failed.id,
    kind: 'invitation',
    recipient: emails[3],
    client: 1,
    subject: "You've been invited to Acme Analytics",
    status: 'failed',
    attempts: 1,
    last_error: 'No such mailbox.',
    created_at: app.clock.now(),
    next_attempt_at: null,
    sent_at: null,
    failed_at: app.clock.now(),
  });
});

mails('are listed with pagination, newest first, and by client', async ({ app }) => {
  const emails = await invite(app, 5);
  const { globex } = await oweSome(app);
  const newest = await app.as(ROOT).mail.list({ client: 1, limit: 2 });
  const [, last] = newest;
  if (!last) return assert.unreachable();

  const older = await recipientsFor(app, ROOT, { client: 1, cursor: last.id });

  assert.is(newest[0]?.recipient, ADA);
  assert.equal(older, emails.reverse());
  assert.equal(await recipientsFor(app, ROOT, { client: 2 }), [EDSGER, globex]);
  assert.equal(await recipientsFor(app, ACME, { client: 2 }), []);
  await rejectsWith(app.as(ROOT).mail.list({ limit: 201 }), 'invalid-input');
});

mails(
  'are hidden from the admin of one client if they are about the account of a user of two',
  async ({ app }) => {
    await app.as(ROOT).users.update({ email: EDSGER, apps: ['zylTKNVx', 'Hb7cW2ke'] });
    await app.as(null).passwords.requestReset({ email: EDSGER });
    await outboxOf(app).createLinks();

    const [mail] = await app.as(ROOT).mail.list({ recipient: EDSGER });
    assert.is(mail?.subject, 'Reset your password for Steward');
    for (const who of [ACME, GLOBEX]) {
      assert.equal(await app.as(who).mail.list({ recipient: EDSGER }), [], who);
      await rejectsWith(app.as(who).mail.get({ id: mail?.id ?? 0 }), 'not-found');
    }
    await app
      .db()
      .deleteFrom('memberships')
      .where('client_id', '=', 1)
      .where('user_id', 'in', userIds(app))
      .execute();
    assert.equal(
      (await app.as(GLOBEX).mail.list({ recipient: EDSGER })).map(({ id }) => id),
      [mail?.id],
    );
    assert.equal(await app.as(GLOBEX).mail.list({ client: 1 }), [], 'a filter names no other client');
    await app.as(ROOT).users.update({ email: EDSGER, apps: ['Hb7cW2ke'] });
  },
);

const userIds = (app: TestApp) => app.db().selectFrom('users').select('id').where('email', '=', EDSGER);

mails('are read with one query per page of any length', async ({ app }) => {
  await invite(app, 50);
  const pool = app.orm.pool;
  const actor = await app.openServices().authentication.findByToken(await app.tokenOf(ROOT));
  if (!actor) return assert.unreachable();
  const countStatements = async (): Promise<number> => {
    let statements = 0;
    // The client that the pool returns next.
    const client = await pool.connect();
    const query = client.query.bind(client) as (...given: unknown[]) => unknown; // it has many forms
    const counted = (...given: unknown[]) => {
      statements += 1;
      return query(...given);
    };
    Object.assign(client, { query: counted });
    client.release();

    const page = await app.openServices().mails.list(actor, { status: 'all' }, { limit: 50 });
    Object.assign(client, { query });
    assert.is(page.length, 50);
    return statements;
  };
  const counts = [await countStatements(), await countStatements(), await countStatements()];

  // The database clock runs one too, every 10 s.
  assert.is(Math.min(...counts), 1);
});

mails('are retried at once on request of an admin of the client', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const outbox = outboxOf(app);
  const [claimed] = (await outbox.claim(1)).mails;
  if (!claimed) return assert.unreachable();
  const { id } = claimed;
  const waiting = await app.as(ACME).mail.retry({ id });
  assert.ok(waiting.next_attempt_at && waiting.next_attempt_at > app.clock.now(), 'it is being sent');
  await outbox.recordDelivery(claimed, {
    outcome: 'refused',
    cause: 'recipient',
    reason: 'No such mailbox.',
  });
  await rejectsWith(app.as(STAFF).mail.retry({ id }), 'forbidden');

  const { status, next_attempt_at } = await app.as(ACME).mail.retry({ id });
  const again = (await outbox.claim(1)).mails[0];
  if (!again) return assert.unreachable();
  await outbox.recordDelivery(again, { outcome: 'taken' });
  const problem = await rejectsWith(app.as(ACME).mail.retry({ id }), 'invalid-input');

  assert.equal([status, next_attempt_at], ['retrying', app.clock.now()]);
  assert.equal(problem.fields, { id: ['This mail has already been sent.'] });
  const entries = await app.as(ACME).audit.list({ action: 'mail.retry' });
  assert.equal(
    entries.map(({ actor, target, clients, details }) => ({ actor, target, clients, details })),
    [{ actor: ACME, target: email, clients: [1], details: { id, kind: 'invitation' } }],
  );
});

mails('cannot be retried by others who may see them', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const { id } = await mailTo(app, email);
  await app.as(ROOT).roles.setClientAdmin({ id: 2, email: STAFF, is_admin: true });

  await rejectsWith(app.as(STAFF).mail.retry({ id }), 'forbidden');

  await app.as(ROOT).roles.setClientAdmin({ id: 2, email: STAFF, is_admin: false });
});

mails('cannot be retried if they are obsolete', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const { id } = await mailTo(app, email);
  await app.db().updateTable('invitations').set({ status: 'revoked' }).where('email', '=', email).execute();

  const problem = await rejectsWith(app.as(ACME).mail.retry({ id }), 'invalid-input');

  assert.equal(problem.fields, { id: ['The invitation has been revoked.'] });
});

mails('are available over REST', async ({ app }) => {
  const [email = ''] = await invite(app, 1);
  const { id } = await mailTo(app, email);

  const list = await app.send('GET /jb/mails/?status=queued&client=1&limit=1', { as: ACME });
  const one = await app.send(`GET /jb/mails/${id}/`, { as: ACME });
  const retried = await app.send(`POST /jb/mails/${id}/retry/`, { as: ACME });

  assert.is(list.statusCode, 200, list.body);
  assert.equal(
    list.json().map((mail: { id: number }) => mail.id),
    [id],
  );
  assert.is(list.json()[0].created_at, app.clock.now().toISOString());
  assert.match(one.json().html, '<!doctype html>');
  assert.is(retried.statusCode, 200, retried.body);
});

mails('are deleted after their retention', async ({ app }) => {
  await invite(app, 1);
  app.clock.advance(20 * DAY_MS);
  assert.equal(await outboxOf(app).claim(5), { mails: [], found: 1 });

  const [mail] = await app.as(ACME).mail.list({});

  assert.equal([mail?.status, mail?.last_error], ['failed', 'The invitation has expired.']);
});

mails.run();
