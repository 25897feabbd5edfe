import { sql } from 'kysely';
import { Client } from 'pg';
import * as assert from 'uvu/assert';
import type { MailKind } from '../../entities/outbox-mail.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { enqueuePolicyReminders } from '../../src/services/policies/factor-notices.ts';
import { factorState, nextLoginStep } from '../../src/services/policies/factor-policy.ts';
import { createScript } from '../support/http-clients.ts';
import { problemIn } from '../support/second-factors.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, ROOT, type TestApp } from '../support/test-app.ts';

const large = appSuite('a policy for second factors of 1,000 people');

const update = (app: TestApp, changes: object, email = ACME) =>
  app.as(email).clients.updateFactorPolicy({ id: 1, ...changes });

const sent = (app: TestApp) =>
  app.db().updateTable('outbox_mails').set({ sent_at: app.clock.now() }).execute();

const recipients = async (app: TestApp, kind: MailKind) => {
  const rows = app.db().selectFrom('outbox_mails').select('recipient').where('kind', '=', kind);
  return (await rows.orderBy('recipient').execute()).map(({ recipient }) => recipient);
};

const remind = (app: TestApp) => enqueuePolicyReminders(app.orm.em.fork(), app.clock.now());

/** Of the pool itself: for each new connection, and for the database clock every 10 s. */
const OF_POOL =
  /^select (current_setting\('transaction_read_only'\)|\(extract\(epoch from clock_timestamp\(\))/;

/** Statements that the work sends to the database. */
const countStatements = async (work: () => Promise<unknown>): Promise<number> => {
  const { query } = Client.prototype;
  let count = 0;
  Client.prototype.query = function (this: Client, ...args: unknown[]) {
    const [statement] = args as [string | { text: string }]; // the forms that the service uses
    if (!OF_POOL.test(typeof statement === 'string' ? statement : statement.text)) count += 1;
    return Reflect.apply(query, this, args);
  };
  try {
    await work();
    return count;
  } finally {
    Client.prototype.query = query;
  }
};

const addMembers = async (app: TestApp, from: number, to: number) =>
  sql`with added as (
    insert into users (email, handle, profile_color, date_joined, last_password_set)
    select 'many' || n || '@acme.test', '@many' || n, '000000', ${app.clock.now()}::timestamptz, ${app.clock.now()}::timestamptz
    from generate_series(${from}::int, ${to}::int) n returning id)
    insert into memberships (client_id, user_id, joined_at) select 1, id, null from added`.execute(app.db());

large('is previewed and mailed with as many statements as one of ten', async ({ app }) => {
  const preview = () => app.as(ROOT).clients.previewFactorPolicy({ id: 1, limit: 1000 });
  const turnOn = () => update(app, { factor_policy: 'required' }, ROOT);
  await preview();
  const few = [await countStatements(preview), await countStatements(turnOn)];
  await update(app, { factor_policy: 'off' }, ROOT);
  await sql`delete from outbox_mails`.execute(app.db());
  await addMembers(app, 1, 1000);

  assert.equal([await countStatements(preview), await countStatements(turnOn)], few);
  const found = await preview();
  assert.ok(found.members >= 1000);
  assert.is((await recipients(app, 'second-factor-required')).length, found.without_factor);
  app.clock.advance(12 * DAY_MS);
  await sent(app);
  assert.ok((await countStatements(() => remind(app))) <= 5);
  assert.is((await recipients(app, 'second-factor-reminder')).length, found.without_factor);
});

large('ends the access of nobody on the day it begins', async ({ app }) => {
  await update(app, { factor_policy: 'off' }, ROOT);
  const before = createScript(app);
  await before.logIn(ADA, DEMO_PASSWORD);
  await update(app, { factor_policy: 'required', factor_grace_days: 7 }, ROOT);
  const lacking = async () =>
    (
      await app
        .db()
        .selectFrom('users')
        .select(factorState('off'))
        .where(sql<boolean>`email like 'many%@acme.test'`)
        .execute()
    ).filter((state) => nextLoginStep(state, ['pwd'], app.clock.now()) !== null).length;

  assert.is(await lacking(), 0);
  assert.is((await before.send('GET !/gate/sales/')).statusCode, 204);
  assert.is((await createScript(app).logIn(ADA, DEMO_PASSWORD)).statusCode, 200);
  app.clock.advance(7 * DAY_MS);
  assert.is(await lacking(), 1000);
  assert.is(problemIn(await createScript(app).logIn(ADA, DEMO_PASSWORD)), 'second-factor-required');
});

large.run();
