import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { erase } from '../support/person.ts';
import { failureOf, rejectsWith } from '../support/rejects.ts';
import { ADA, appSuite, DEMO_PASSWORD, EDSGER, ROOT, STAFF } from '../support/test-app.ts';

const erasing = appSuite('users.erase');

erasing('is refused without a valid code for this person, caller and state', async ({ app }) => {
  const root = app.as(ROOT);
  const { confirmation } = await root.users.previewErasure({ email: EDSGER });
  const eraseWith = (code: string, email = EDSGER, address = email) =>
    rejectsWith(root.users.erase({ email, confirmation: code, confirm_email: address }), 'invalid-input');
  await app.db().updateTable('users').set({ is_superuser: true }).where('email', '=', STAFF).execute();

  assert.ok((await eraseWith(confirmation, EDSGER, ADA)).fields?.confirm_email);
  assert.ok((await eraseWith(confirmation, ADA)).fields?.confirmation);
  assert.ok((await eraseWith('1.x')).fields?.confirmation);
  const byStaff = app.as(STAFF).users.erase({ email: EDSGER, confirmation, confirm_email: EDSGER });
  await rejectsWith(byStaff, 'invalid-input');
  await root.users.update({ email: EDSGER, last_name: 'D' });
  await eraseWith(confirmation);
  const renewed = await root.users.previewErasure({ email: EDSGER });
  app.clock.advance(11 * MINUTE_MS);
  await eraseWith(renewed.confirmation);

  assert.is((await root.users.get({ email: EDSGER })).is_active, true);
  await app.db().updateTable('users').set({ is_superuser: false }).where('email', '=', STAFF).execute();
});

erasing('ends sessions, tokens and logins, and does not block a new account', async ({ app }) => {
  const token = await app.tokenOf(EDSGER);
  await erase(app, EDSGER);

  const call = await app.send('GET /session/', { headers: { authorization: `Token ${token}` } });
  const login = await app.send('POST /session/', { payload: { username: EDSGER, password: DEMO_PASSWORD } });
  const created = await app.as(ROOT).users.create({ email: EDSGER, client: 2 });

  assert.equal([call.statusCode, login.statusCode], [401, 400]);
  assert.is(created.email, EDSGER);
});

erasing('allows no other change of the audit trail', async ({ app }) => {
  const first = sql`(select max(id) from audit_entries)`;
  const changes = [
    sql`update audit_entries set actor_email = 'x@erased.invalid' where id = ${first}`,
    sql`update audit_entries set details = '{}', action = 'site.create' where id = ${first}`,
    sql`delete from audit_entries`,
    sql`truncate audit_entries`,
  ];
  const values = {
    user_id: 1,
    address: ADA,
    pattern: ADA,
    needles: [`%${ADA}%`],
    started_at: app.clock.now(),
  };
  await app
    .db()
    .insertInto('erasures')
    .values({ ...values, pseudonym: 'x@erased.invalid' })
    .execute();

  for (const change of changes)
    assert.match((await failureOf(change.execute(app.db()))).message, /append-only/);
  await app.db().deleteFrom('erasures').where('address', '=', ADA).execute();
});

erasing.run();
