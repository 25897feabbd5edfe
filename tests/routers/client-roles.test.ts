import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { CLIENT_ROLES, labelOf } from '../../src/services/access/permissions.ts';
import { ACME, appSuite, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const roles = appSuite('roles in single clients');

let created = 0;

/** A member of both clients. */
const addMember = async (app: TestApp): Promise<string> => {
  created += 1;
  const email = `holder-${created}@acme.test`;
  await app.as(ROOT).users.create({ email, apps: [SALES, FLEET], send_email: false });
  return email;
};

for (const role of CLIENT_ROLES) {
  const ofAcme = sql`client_id = 1 and user_id = users.id`;
  const give = async (app: TestApp, email: string) => {
    await sql`
      update memberships set ${sql.ref(role.column)} = true from users
      where ${ofAcme} and email = ${email}`.execute(app.db());
  };
  const hasRole = async (app: TestApp, email: string): Promise<boolean | undefined> => {
    const { rows } = await sql<{ has: boolean }>`
      select ${sql.ref(role.column)} as has from memberships, users
      where ${ofAcme} and email = ${email}`.execute(app.db());
    return rows[0]?.has;
  };
  const offboard = async (app: TestApp, email: string) =>
    (await app.as(ACME).users.bulkUpdate({ emails: [email], action: 'offboard' })).operation;
  const title = `${labelOf(role)}:`;

  roles(`${title} an offboarding ends it, and its undo gives it back`, async ({ app }) => {
    const email = await addMember(app);
    await give(app, email);
    const preview = await app.as(ACME).users.previewOffboarding({ email });
    assert.equal(preview.roles, [`${labelOf(role)} of Acme Analytics`]);

    const operation = await offboard(app, email);

    assert.is(await hasRole(app, email), false);
    await app.as(ACME).operations.undo({ id: operation });
    assert.is(await hasRole(app, email), true);
    const entries = await app.as(ACME).audit.list({ target: email });
    const actions = entries.map(({ action }) => action);
    assert.equal(
      actions.filter((action) => action === role.given || action === role.ended),
      [role.given, role.ended],
    );
  });

  roles(`${title} a suspension ends it for good`, async ({ app }) => {
    const email = await addMember(app);
    await give(app, email);

    await app.as(ACME).users.deactivate({ email });

    assert.is(await hasRole(app, email), false);
    await app.as(ACME).memberships.update({ id: 1, email, is_active: true });
    assert.is(await hasRole(app, email), false);
  });

  roles(`${title} no undo gives it to someone who was removed from the client since`, async ({ app }) => {
    const email = await addMember(app);
    await give(app, email);
    const operation = await offboard(app, email);
    await app.as(ROOT).memberships.remove({ id: 1, email });
    await app.as(ROOT).users.bulkUpdate({ emails: [email], action: 'grant-apps', apps: [SALES] });

    await app.as(ACME).operations.undo({ id: operation });

    assert.is(await hasRole(app, email), false);
  });
}

roles.run();
