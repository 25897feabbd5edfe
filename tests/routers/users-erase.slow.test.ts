import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { dayOf } from '../../src/services/usage/usage-windows.ts';
import { addPerson, erase, PERSON, rowsWith, TRACES } from '../support/person.ts';
import { failureOf, rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, EDSGER, GRACE, IDLE, ROOT, STAFF } from '../support/test-app.ts';
import { rollupDifferences, SALES } from '../support/usage.ts';

const erasing = appSuite('users.erase');

erasing('leaves no trace of a person with 10,000 entries in any table, and keeps counts', async ({ app }) => {
  await addPerson(app, { entries: 10_000, audited: 10_000 });
  const before = await app.as(ROOT).users.previewErasure({ email: PERSON });
  const statsBefore = await app.as(ROOT).usage.series({ app_id: SALES, window: 90 });

  const startedAt = performance.now();
  const { pseudonym } = await erase(app);
  console.log(`\n# erased in ${Math.round(performance.now() - startedAt)} ms`);

  assert.is(before.usage_entries, 10_000);
  assert.equal(await rowsWith(app, TRACES), []);
  assert.equal(await app.as(ROOT).usage.series({ app_id: SALES, window: 90 }), statsBefore);
  const { items } = await app.as(ROOT).usage.list({ app_id: SALES, email: pseudonym, limit: 1 });
  assert.equal(
    items.map(({ full_name, extra }) => ({ full_name, extra })),
    [{ full_name: '', extra: {} }],
  );
  assert.equal(await rollupDifferences(app, SALES, dayOf(app.clock.now())), []);
  const [entry] = await app.as(ROOT).audit.list({ action: 'user.erase' });
  assert.equal([entry?.actor, entry?.target], [ROOT, pseudonym]);
  assert.equal(entry?.clients, [1]);
});

erasing(
  'keeps texts of others except the mention, and addresses that contain the address',
  async ({ app }) => {
    const extra = { team: 'north', boss: IDLE, other: `x${IDLE}`, site: `${IDLE}.example` };
    await app.as(ACME).users.update({ email: GRACE, extra });

    const { pseudonym } = await erase(app, IDLE);

    const grace = await app.as(ACME).users.get({ email: GRACE });
    assert.equal(grace.extra, { ...extra, boss: pseudonym });
    assert.is(grace.email, GRACE);
  },
);

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

erasing(
  'is refused to others than superusers, of oneself, and of someone who no longer exists',
  async ({ app }) => {
    await erase(app, GRACE);

    await rejectsWith(app.as(ACME).users.previewErasure({ email: ADA }), 'forbidden');
    await rejectsWith(app.as(ROOT).users.previewErasure({ email: ROOT }), 'self-modification');
    await rejectsWith(app.as(ROOT).users.previewErasure({ email: GRACE }), 'not-found');
  },
);

erasing('ends sessions, tokens and logins, and does not block a new account', async ({ app }) => {
  const token = await app.tokenOf(EDSGER);
  await erase(app, EDSGER);

  const call = await app.send('GET /session/', { headers: { authorization: `Token ${token}` } });
  const login = await app.send('POST /session/', { payload: { username: EDSGER, password: DEMO_PASSWORD } });
  const created = await app.as(ROOT).users.create({ email: EDSGER, client: 2 });

  assert.equal([call.statusCode, login.statusCode], [401, 400]);
  assert.is(created.email, EDSGER);
});

erasing('records new invitations of the address under the address', async ({ app }) => {
  await erase(app, ADA);
  const items = [{ email: ADA, client: 1 }];
  for (let time = 0; time < 2; time += 1) await app.as(ROOT).invitations.create({ items });

  const [renewed] = await app.as(ROOT).audit.list({ action: 'invitation.renew' });
  const [created] = await app.as(ROOT).audit.list({ action: 'invitation.create' });
  assert.equal([created?.target, renewed?.target], [ADA, ADA]);
});

erasing('allows no other change of the audit trail', async ({ app }) => {
  const first = sql`(select max(id) from audit_entries)`;
  const changes = [
    sql`update audit_entries set actor_email = 'x@erased.invalid' where id = ${first}`,
    sql`update audit_entries set details = '{}', action = 'site.create' where id = ${first}`,
    sql`delete from audit_entries`,
    sql`truncate audit_entries`,
  ];
  const values = { user_id: 1, address: ADA, pattern: ADA, needles: [`%${ADA}%`], started_at: new Date() };
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
