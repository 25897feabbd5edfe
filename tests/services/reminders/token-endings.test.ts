import * as assert from 'uvu/assert';
import { DAY_MS } from '../../../src/lib/clock.ts';
import { outboxOf } from '../../support/mails.ts';
import { deliverAll, forgetReminders, readMail, remindersIn, runReminders } from '../../support/reminders.ts';
import { setRows } from '../../support/rows.ts';
import { ACME, ADA, appSuite, GLOBEX, GRACE, ROOT, type TestApp } from '../../support/test-app.ts';

const endings = appSuite('reminders of tokens that end');

endings.before.each(async ({ app }) => {
  await forgetReminders(app);
  await setRows(app, 'api_tokens', {}, { expires_at: null, reminded_days: null });
  for (const email of [ROOT, ACME]) await app.renewToken(email);
});

let made = 0;

const inDays = (app: TestApp, days: number): Date => new Date(app.clock.now().getTime() + days * DAY_MS);

/** A token of a new service account that ends after some days. */
const ofService = async (app: TestApp, days: number, { by = ACME, client = 1 as number | null } = {}) => {
  const { create, createToken } = app.as(client === null ? ROOT : ACME).serviceAccounts;
  const { id } = await create({ name: `Export ${++made}`, client });
  const token = await app
    .as(by)
    .serviceAccounts.createToken({ id, name: 'Host', expires_at: inDays(app, days) });
  return { id, token_id: token.id, createToken };
};

const later = async (app: TestApp, days: number): Promise<string[]> => {
  app.clock.advance(days * DAY_MS);
  await runReminders(app);
  const mails = await remindersIn(app);
  await app.db().deleteFrom('outbox_mails').execute();
  return mails;
};

endings('are sent to its person 14 days and a day before, once each', async ({ app }) => {
  const name = `token ${++made}`;
  await app.as(ADA).tokens.createNamed({ name, expires_at: inDays(app, 30) });
  assert.equal(await later(app, 15.9), []);
  app.clock.advance(0.1 * DAY_MS);
  await Promise.all(Array.from({ length: 3 }, () => runReminders(app)));
  const { subject, text } = await readMail(app, 'token-ending', ADA);

  assert.equal(await remindersIn(app), [`token-ending ${ADA}`]);
  assert.match(subject, /^An API token at .* ends soon$/);
  assert.match(text, `Your API token with the name “${name}” ends on`);
  await deliverAll(app);
  await app.db().deleteFrom('outbox_mails').execute();
  assert.equal(await later(app, 12), []);
  assert.equal(await later(app, 1), [`token-ending ${ADA}`]);
  assert.equal(await later(app, 0.5), []);
});

endings('skip the steps that are longer than the life of the token, or were missed', async ({ app }) => {
  await app.as(ADA).tokens.createNamed({ name: `token ${++made}`, expires_at: inDays(app, 13) });
  await app.as(GRACE).tokens.createNamed({ name: `token ${++made}`, expires_at: inDays(app, 0.9) });
  assert.equal(await later(app, 0), []);
  await app.as(ROOT).tokens.createNamed({ name: `token ${++made}`, expires_at: inDays(app, 14) });

  assert.equal(await later(app, 13), [`token-ending ${ROOT}`]);
});

endings(
  'of a service account are sent to the maker while they manage it, then to the admins',
  async ({ app }) => {
    await ofService(app, 20, { by: ROOT });
    assert.equal(await later(app, 6), [`token-ending ${ROOT}`]);
    await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: true });
    await ofService(app, 20, { by: GRACE });
    await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: false });

    assert.equal(await later(app, 6), [`token-ending ${ACME}`]);
  },
);

endings(
  'of a service account of the installation without its maker are sent to superusers',
  async ({ app }) => {
    const { token_id } = await ofService(app, 20, { by: ROOT, client: null });
    await setRows(app, 'api_tokens', { id: token_id }, { created_by: null });

    assert.equal(await later(app, 6), [`token-ending ${ROOT}`]);
  },
);

endings('are not sent once the token was revoked, or concerns the recipient no more', async ({ app }) => {
  const own = await app.as(GLOBEX).tokens.createNamed({ name: 'own', expires_at: inDays(app, 20) });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: true });
  await ofService(app, 20, { by: GRACE });
  app.clock.advance(6 * DAY_MS);
  await runReminders(app);
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: false });
  await app.as(GLOBEX).tokens.revoke({ id: own.id });
  app.clock.advance(5_000);
  await outboxOf(app).claim(10);
  const mails = app.db().selectFrom('outbox_mails').select('last_error').where('kind', '=', 'token-ending');

  assert.equal(
    (await mails.execute()).map(({ last_error: reason }) => reason),
    Array.from({ length: 2 }, () => 'The token has ended, or no longer concerns the recipient.'),
  );
});

endings.run();
