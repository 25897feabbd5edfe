import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { interruptedAt, untilWaiting } from '../support/database-sessions.ts';
import { fieldOf } from '../support/lists.ts';
import { emptyOutbox } from '../support/mails.ts';
import { rowOf, rowsOf, valuesOf } from '../support/rows.ts';
import { ACME, ADA, appSuite, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { addUsers } from '../support/users.ts';

const repeats = appSuite('a bulk request that is repeated with its Idempotency-Key');

repeats.before(async ({ app }) => {
  await addUsers(app, 20);
});

const PEOPLE = 'many.test';

const updateAs = (app: TestApp, key: string, payload: object) =>
  app.send('POST /jb/users/bulk/', { as: ACME, payload, headers: { 'idempotency-key': key } });

const statusesIn = (response: { json: () => { results: { status: string }[] } }) =>
  fieldOf(response.json().results, 'status');

const recipients = async (app: TestApp) => (await valuesOf(app, 'outbox_mails', 'recipient')).toSorted();

repeats('continues the interrupted operation, and reports all people as the first would', async ({ app }) => {
  const body = { filter: { search: PEOPLE, is_active: true }, action: 'deactivate' };
  const first = await interruptedAt(app, 'operation_changes', 8, () => updateAs(app, 'off', body));
  const [changed] = await rowsOf(app, 'operation_changes');
  const { email: since } = await rowOf(app, 'users', { id: changed?.user_id ?? 0 });
  await app.as(ROOT).users.update({ email: since, is_active: true });

  const second = await updateAs(app, 'off', body);
  const third = await updateAs(app, 'off', body);

  assert.is(first.statusCode, 503);
  assert.is(second.statusCode, 200, second.body);
  assert.equal(statusesIn(second), Array(20).fill('ok'));
  assert.is((await rowsOf(app, 'operations')).length, 1);
  assert.is((await app.as(ROOT).users.get({ email: since })).is_active, true, 'it is not changed again');
  assert.equal([third.headers['idempotency-replayed'], third.body], ['true', second.body]);

  const undone = await app.as(ACME).operations.undo({ id: second.json().operation });
  assert.is(undone.reverted, 19);
  const skipped = undone.skipped.map(({ email, problem }) => [email, problem.code]);
  assert.equal(skipped, [[since, 'changed-since']]);
});

repeats('refuses another request with the key of an interrupted one', async ({ app }) => {
  const body = { emails: [ADA, GRACE], action: 'deactivate' };
  await interruptedAt(app, 'operation_changes', 1, () => updateAs(app, 'mine', body));

  const other = await updateAs(app, 'mine', { ...body, emails: [GRACE] });

  assert.equal([other.statusCode, other.json().title], [409, 'Reused idempotency key']);
  await updateAs(app, 'mine', body);
  await app.as(ROOT).users.bulkUpdate({ emails: [ADA, GRACE], action: 'reactivate' });
});

repeats('mails each person one link', async ({ app }) => {
  const invited = 'guest@repeats.test';
  await app.as(ACME).clients.invite({ id: 1, email: invited });
  await emptyOutbox(app);
  const emails = [invited, ...[3, 4, 5, 6, 7].map((n) => `m${n}@${PEOPLE}`)];
  await app.as(ROOT).users.bulkUpdate({ emails, action: 'reactivate' });
  const send = () => updateAs(app, 'links', { emails, action: 'send-password-link' });

  const first = await interruptedAt(app, 'outbox_mails', 3, send);
  const second = await send();

  assert.equal([first.statusCode, second.statusCode], [503, 200], second.body);
  assert.equal(statusesIn(second), Array(6).fill('ok'));
  assert.equal(await recipients(app), emails.toSorted());
});

repeats('resends each invitation once', async ({ app }) => {
  const emails = [1, 2, 3, 4, 5].map((n) => `resent-${n}@repeats.test`);
  const items = emails.map((email) => ({ email, client: 1 }));
  const ids = (await app.as(ACME).invitations.create({ items })).map(({ id }) => id);
  app.clock.advance(DAY_MS);
  await emptyOutbox(app);
  const resend = () =>
    app.send('POST /jb/invitations/bulk/', {
      as: ACME,
      payload: { ids, action: 'resend' },
      headers: { 'idempotency-key': 'resend' },
    });

  const first = await interruptedAt(app, 'outbox_mails', 3, resend);
  const second = await resend();

  assert.equal([first.statusCode, second.statusCode], [503, 200], second.body);
  const ok = { status: 'ok', problem: null };
  assert.equal(
    second.json().results,
    ids.map((id) => ({ id, ...ok })),
  );
  assert.equal(await recipients(app), emails);
});

repeats('is refused after a while if the first request is still running', async ({ app }) => {
  const holder = new Client(app.connection);
  await holder.connect();
  await holder.query(`begin; select from users where email = '${GRACE}' for update`);
  const send = () => updateAs(app, 'slow', { emails: [ADA, GRACE], action: 'deactivate' });
  const first = send();
  await untilWaiting(holder);

  const waited = await Promise.all(Array.from({ length: 14 }, send));
  await holder.query('rollback');
  await holder.end();

  for (const { statusCode, headers } of waited)
    assert.equal([statusCode, headers['retry-after']], [503, '5']);
  assert.is((await first).statusCode, 200);
  assert.is((await send()).body, (await first).body);
  await app.as(ROOT).users.bulkUpdate({ emails: [ADA, GRACE], action: 'reactivate' });
});

repeats.run();
