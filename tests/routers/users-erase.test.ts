import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { erase } from '../support/person.ts';
import { failureOf, rejectsWith } from '../support/rejects.ts';
import { setRows } from '../support/rows.ts';
import { ADA, appSuite, DEMO_PASSWORD, EDSGER, ROOT, STAFF } from '../support/test-app.ts';

const erasing = appSuite('users.erase');

erasing('is refused without a valid code for this person, caller and state', async ({ app }) => {
  const root = app.as(ROOT);
  const { confirmation } = await root.users.previewErasure({ email: EDSGER });
  const eraseWith = (code: string, email = EDSGER, address = email) =>
    rejectsWith(root.users.erase({ email, confirmation: code, confirm_email: address }), 'invalid-input');
  await setRows(app, 'users', { email: STAFF }, { is_superuser: true });

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
  await setRows(app, 'users', { email: STAFF }, { is_superuser: false });
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
  const change = (set: string) =>
    failureOf(
      app.orm.em.fork().transactional(async (tx) => {
        await tx.execute(`set local steward.erasing = 'on'`);
        await tx.execute(`update audit_entries set ${set} where id = (select max(id) from audit_entries)`);
      }),
    );

  assert.match((await change(`action = 'site.create'`)).message, /append-only/);
  assert.match((await change(`actor_label = '', actor_id = 1, request_id = 'x'`)).message, /append-only/);
});

erasing.run();
