import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { erase } from '../support/person.ts';
import { appSuite, EDSGER, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';
import { restoreGrants } from '../support/users.ts';

const undo = appSuite('operations.undo');

undo.before.each(async ({ app }) => {
  await restoreGrants(app);
  await sql`
    delete from memberships m using users u where u.id = m.user_id and not m.is_admin
      and (u.email like '%@acme.test' and m.client_id = 2 or u.email = ${EDSGER} and m.client_id = 1)`.execute(
    app.db(),
  );
});

const read = async (app: TestApp, email: string) => {
  const { apps, is_active } = await app.as(ROOT).users.get({ email });
  return { apps, is_active };
};

/** Ids of the clients that the user belongs to. */
const clientsOf = async (app: TestApp, email: string): Promise<number[]> =>
  (
    await app
      .db()
      .selectFrom('memberships')
      .innerJoin('users', 'users.id', 'user_id')
      .select('client_id')
      .where('email', '=', email)
      .execute()
  ).map(({ client_id }) => client_id);

undo('revives no person who was erased since', async ({ app }) => {
  const root = app.as(ROOT);
  const email = 'leaver@acme.test';
  await root.users.create({ email, apps: [SALES, CHURN], send_email: false });
  const off = await root.users.bulkUpdate({ emails: [email], action: 'deactivate' });
  const revoked = await root.users.bulkUpdate({ emails: [email], action: 'revoke-apps', apps: [SALES] });
  const { pseudonym } = await erase(app, email);

  const results = [
    await root.operations.undo({ id: off.operation }),
    await root.operations.undo({ id: revoked.operation }),
  ];

  assert.equal(
    results.map(({ reverted, skipped }) => [reverted, skipped]),
    [
      [0, []],
      [0, []],
    ],
  );
  assert.equal(await read(app, pseudonym), { apps: [], is_active: false });
  assert.equal(await clientsOf(app, pseudonym), []);
});

undo.run();
