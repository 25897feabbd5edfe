import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { setFactorPolicy } from '../support/factor-policies.ts';
import { rejectsWith } from '../support/rejects.ts';
import { enroll } from '../support/second-factors.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const policies = appSuite('clients.updateFactorPolicy');

policies.before.each(async ({ app }) => {
  await sql`delete from mfa_factors`.execute(app.db());
  for (const id of [1, 2]) await setFactorPolicy(app, id, { policy: 'off' });
  await sql`update clients set factor_policy_since = null, factor_grace_days = 14`.execute(app.db());
});

const update = (app: TestApp, changes: object, email = ACME) =>
  app.as(email).clients.updateFactorPolicy({ id: 1, ...changes });

policies('begins when it demands more, and not when it demands less or the same', async ({ app }) => {
  const start = app.clock.now();
  assert.equal(await update(app, { factor_policy: 'optional' }), {
    factor_policy: 'optional',
    factor_grace_days: 14,
    factor_policy_since: null,
  });
  assert.equal((await update(app, { factor_policy: 'required' })).factor_policy_since, start);
  app.clock.advance(DAY_MS);
  assert.equal((await update(app, { factor_grace_days: 3 })).factor_policy_since, start);
  assert.equal((await update(app, { factor_policy: 'off' })).factor_policy_since, null);
  assert.equal((await update(app, { factor_policy: 'required' })).factor_policy_since, app.clock.now());
});

policies('is recorded with what changed, and ends no session', async ({ app }) => {
  const token = await app.tokenOf(ADA);
  await update(app, { factor_policy: 'required', factor_grace_days: 7 });
  await update(app, { factor_policy: 'required' });
  const [entry] = await app.as(ACME).audit.list({ action: 'client.change-factor-policy' });

  assert.equal(entry?.details, {
    factor_policy: { from: 'off', to: 'required' },
    factor_grace_days: { from: 14, to: 7 },
  });
  const headers = { authorization: `Token ${token}` };
  assert.is((await app.send('GET /session/', { headers })).statusCode, 200);
});

policies('does not lock out the admin who changes it', async ({ app }) => {
  const atOnce = { factor_policy: 'required', factor_grace_days: 0 };
  const { fields } = await rejectsWith(update(app, atOnce), 'invalid-input');
  assert.match(fields?.factor_grace_days?.[0] ?? '', 'You have no second factor yet');
  assert.is((await app.as(ACME).clients.factorPolicy({ id: 1 })).factor_policy, 'off');

  await update(app, { ...atOnce, factor_grace_days: 1 });
  app.clock.advance(2 * DAY_MS);
  await rejectsWith(update(app, { factor_grace_days: 0 }), 'invalid-input');
  await app.renewToken(ACME);
  await enroll(app, ACME);
  await update(app, atOnce);
});

policies('demands nothing of superusers who are no members', async ({ app }) => {
  await update(app, { factor_policy: 'required', factor_grace_days: 0 }, ROOT);
});

policies('takes no policy that no kind of second factor meets', async ({ app }) => {
  await rejectsWith(update(app, { factor_policy: 'passkeys' }), 'invalid-input');
  await rejectsWith(update(app, { factor_grace_days: 366 }), 'invalid-input');
});

policies('is for admins of the client and superusers, and read by staff', async ({ app }) => {
  await rejectsWith(update(app, { factor_policy: 'required' }, STAFF), 'forbidden');
  await rejectsWith(update(app, { factor_policy: 'required' }, GLOBEX), 'not-found');
  await rejectsWith(update(app, { factor_policy: 'required' }, ADA), 'forbidden');
  await rejectsWith(app.as(GLOBEX).clients.factorPolicy({ id: 1 }), 'not-found');
  await rejectsWith(app.as(GLOBEX).clients.previewFactorPolicy({ id: 1 }), 'not-found');
  assert.is((await app.as(STAFF).clients.factorPolicy({ id: 1 })).factor_policy, 'off');
});

const preview = appSuite('clients.previewFactorPolicy');

preview('counts members, and lists those without a second factor', async ({ app }) => {
  await enroll(app, ADA);
  await sql`insert into memberships (client_id, user_id) select 2, id from users where email = ${GRACE}`.execute(
    app.db(),
  );
  const found = await app.as(ACME).clients.previewFactorPolicy({ id: 1, grace_days: 7 });
  const due = new Date(app.clock.now().getTime() + 7 * DAY_MS);
  const emails = found.users.map(({ email }) => email);

  assert.is(found.with_factor, 1);
  assert.is(found.members, found.without_factor + 1);
  assert.is(found.users.length, found.without_factor);
  assert.equal(found.required_from, due);
  assert.ok(emails.includes(GRACE) && !emails.includes(ADA));
  assert.is(found.shared, 1);
  assert.equal(
    found.users.filter(({ is_shared }) => is_shared).map(({ email }) => email),
    [GRACE],
  );
});

preview('says that nothing is demanded by a policy that demands nothing', async ({ app }) => {
  const found = await app.as(ACME).clients.previewFactorPolicy({ id: 1, policy: 'optional' });
  assert.is(found.required_from, null);
});

policies.run();
preview.run();
