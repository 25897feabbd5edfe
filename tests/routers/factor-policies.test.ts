import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import type { MailKind } from '../../entities/outbox-mail.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { enqueuePolicyReminders } from '../../src/services/policies/factor-notices.ts';
import { fieldOf } from '../support/lists.ts';
import { enrollPasskey } from '../support/passkeys.ts';
import { rejectsWith } from '../support/rejects.ts';
import { setRows, valuesOf } from '../support/rows.ts';
import { enroll, setFactorPolicy } from '../support/second-factors.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { inDays } from '../support/time.ts';
import { FLEET } from '../support/usage.ts';

const policies = appSuite('policies of clients for second factors');

const reset = async ({ app }: { app: TestApp }): Promise<void> => {
  await sql`delete from mfa_factors; delete from outbox_mails`.execute(app.db());
  for (const id of [1, 2]) await setFactorPolicy(app, id, { policy: 'off', graceDays: 14 });
  await setRows(app, 'clients', {}, { factor_policy_since: null, factor_mails: true });
};
policies.before.each(reset);

const update = (app: TestApp, changes: object, email = ACME) =>
  app.as(email).clients.updateFactorPolicy({ id: 1, ...changes });

policies('begins when it demands more, and not when it demands less or the same', async ({ app }) => {
  const start = app.clock.now();
  assert.equal(await update(app, { factor_policy: 'optional' }), {
    factor_policy: 'optional',
    factor_grace_days: 14,
    factor_mails: true,
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
  const demand = (factor_policy: 'required' | 'passkey', factor_grace_days: number) =>
    update(app, { factor_policy, factor_grace_days });
  const faultOf = async (change: Promise<unknown>) =>
    (await rejectsWith(change, 'invalid-input')).fields?.factor_grace_days?.[0] ?? '';
  assert.match(await faultOf(demand('required', 0)), 'You have no second factor yet');
  assert.is((await app.as(ACME).clients.factorPolicy({ id: 1 })).factor_policy, 'off');

  await demand('required', 1);
  app.clock.advance(2 * DAY_MS);
  await faultOf(demand('required', 0));
  await app.renewToken(ACME);
  await enroll(app, ACME);
  await demand('required', 0);
  assert.match(await faultOf(demand('passkey', 0)), 'You have no passkey yet');
  await demand('passkey', 1);
  await enrollPasskey(app, ACME);
  await demand('passkey', 0);

  // Superusers are no members.
  await update(app, { factor_policy: 'required' }, ROOT);
});

policies('a preview counts members, and lists those without a second factor', async ({ app }) => {
  await enroll(app, ADA);
  await setRows(app, 'users', { email: GRACE }, { was_shared: true });
  const preview = (policy: 'optional' | 'required' | 'passkey' = 'required', as = ACME) =>
    app.as(as).clients.previewFactorPolicy({ id: 1, policy, grace_days: 7 });
  const found = await preview();
  const emails = fieldOf(found.users, 'email');

  assert.equal([found.with_factor, found.shared, found.required_from], [1, 1, inDays(app, 7)]);
  assert.is(found.members, found.without_factor + 1);
  assert.is(found.users.length, found.without_factor);
  assert.ok(emails.includes(GRACE) && !emails.includes(ADA));
  const shared = found.users.filter(({ is_shared }) => is_shared);
  assert.equal(fieldOf(shared, 'email'), [GRACE]);
  await enrollPasskey(app, GRACE);
  assert.equal(await preview(), found, 'what people of other clients have is not for the admins of one');
  const counts = [await preview('required', ROOT), await preview('passkey', ROOT)];
  assert.equal(fieldOf(counts, 'with_factor'), [2, 1]);
  assert.is((await preview('optional')).required_from, null, 'it demands nothing');
});

const mails = appSuite('mails about policies for second factors');

mails.before.each(reset);

const sent = (app: TestApp) => setRows(app, 'outbox_mails', {}, { sent_at: app.clock.now() });

const recipients = async (app: TestApp, kind: MailKind) =>
  (await valuesOf(app, 'outbox_mails', 'recipient', { kind })).toSorted();

const remind = (app: TestApp) => enqueuePolicyReminders(app.orm.em.fork(), app.clock.now());

mails('inform active members without a second factor, with the date', async ({ app }) => {
  await enroll(app, ADA);
  await update(app, { factor_policy: 'required', factor_grace_days: 7 });
  const told = await recipients(app, 'second-factor-required');
  const [mail] = await app.as(ROOT).mail.list({ recipient: GRACE, status: 'all' });
  const { text, subject } = await app.as(ROOT).mail.get({ id: mail?.id ?? 0 });

  assert.ok(told.includes(GRACE) && !told.includes(ADA));
  assert.is(subject, 'Acme Analytics requires a second factor');
  assert.match(text, 'You lose no access.');
});

mails('are not sent if the client wants none, nor for a policy that demands nothing', async ({ app }) => {
  await update(app, { factor_policy: 'optional' });
  await update(app, { factor_policy: 'required', factor_mails: false });
  app.clock.advance(12 * DAY_MS);
  await remind(app);

  assert.equal(await valuesOf(app, 'outbox_mails', 'kind'), []);
});

mails('remind once, within three days before the end of the grace', async ({ app }) => {
  await update(app, { factor_policy: 'required', factor_grace_days: 14 });
  await sent(app);
  app.clock.advance(10 * DAY_MS);
  await remind(app);
  assert.equal(await recipients(app, 'second-factor-reminder'), []);
  await app.renewToken(ADA);
  await enroll(app, ADA);
  app.clock.advance(1.5 * DAY_MS);
  await Promise.all([remind(app), remind(app), remind(app)]);
  const reminded = await recipients(app, 'second-factor-reminder');
  assert.ok(reminded.includes(GRACE) && !reminded.includes(ADA));
  assert.is(new Set(reminded).size, reminded.length, 'once each, also by several instances');
  await sent(app);
  app.clock.advance(DAY_MS);
  await remind(app);
  assert.equal(await recipients(app, 'second-factor-reminder'), reminded);
});

mails('tell no admin of a single client who of its people of several clients has none', async ({ app }) => {
  await app.as(ROOT).grants.create({ app_id: FLEET, email: GRACE });
  await app.renewToken(ACME);
  await update(app, { factor_policy: 'required' });
  const seenBy = async (email: string) => {
    const listed = await app.as(email).mail.list({ recipient: GRACE, status: 'all' });
    const timeline = await app.as(email).mail.timeline({ email: GRACE });
    const seen = [...listed, ...timeline.map(({ mail }) => mail)];
    return seen.flatMap((mail) => (mail?.kind === 'second-factor-required' ? mail.id : []));
  };
  const planned = async (email: string) =>
    (await app.as(email).users.previewOffboarding({ email: GRACE })).mails;

  const [id = 0] = await seenBy(ROOT);
  assert.ok((await recipients(app, 'second-factor-required')).includes(GRACE));
  assert.equal([await seenBy(ACME), await seenBy(GLOBEX)], [[], []]);
  await rejectsWith(app.as(ACME).mail.get({ id }), 'not-found');
  assert.is(await planned(ACME), 0);
  assert.ok((await planned(ROOT)) > 0);

  await app.as(ROOT).memberships.remove({ id: 2, email: GRACE });
  assert.equal(await seenBy(ACME), [], 'nor when they have left the other client');
});

const addresses = appSuite('a policy for passkeys of a service without a host name', {
  BASE_URL: 'http://192.0.2.7:8000',
});

addresses('is refused, because no browser has passkeys there', async ({ app }) => {
  await rejectsWith(update(app, { factor_policy: 'passkey' }), 'passkeys-unavailable');
  assert.is((await update(app, { factor_policy: 'required' })).factor_policy, 'required');
});

policies.run();
mails.run();
addresses.run();
