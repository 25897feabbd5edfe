import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

/** Once an account belongs to a second client, or has a role for all, it is the person's for good. */
const accounts = appSuite('an account that was ever shared');

let created = 0;
const addPerson = async (app: TestApp, apps: string[]): Promise<string> => {
  created += 1;
  const email = `shared-${created}@x.test`;
  await app.as(ROOT).users.create({ email, apps });
  return email;
};

/** What an admin of Acme is refused, or does not see, of the account. */
const requireHidden = async (app: TestApp, email: string): Promise<void> => {
  const acme = app.as(ACME);
  await rejectsWith(acme.sessions.listByUser({ email }), 'shared-user');
  await rejectsWith(acme.tokens.listByUser({ email }), 'shared-user');
  await rejectsWith(acme.users.resetFactors({ email }), 'shared-user');
  await rejectsWith(acme.users.update({ email, first_name: 'Other' }), 'shared-user');
  assert.is((await acme.users.screen({ email })).account, null);
  created += 1;
  await app.as(email).tokens.createNamed({ name: `a secret project ${created}` });
  const entries = await acme.audit.list({ person: email });
  assert.not.ok(entries.some(({ action }) => action === 'token.create'));
};

accounts('of one client is for its admins', async ({ app }) => {
  const email = await addPerson(app, [SALES]);
  await app.as(email).tokens.createNamed({ name: 'cron' });
  assert.is((await app.as(ACME).tokens.listByUser({ email })).length, 2);
  assert.ok((await app.as(ACME).users.screen({ email })).account);
  assert.is((await app.as(ACME).audit.list({ person: email }))[0]?.action, 'token.create');
});

accounts('is for the admins of neither client, also after the person has left one', async ({ app }) => {
  const email = await addPerson(app, [SALES]);
  await app.as(ROOT).users.update({ email, apps: [SALES, FLEET] });
  await requireHidden(app, email);
  await app.as(GLOBEX).memberships.remove({ id: 2, email });
  await requireHidden(app, email);
});

accounts('is not for the admins of the client that the person joins after the first', async ({ app }) => {
  const email = await addPerson(app, [FLEET]);
  await app.as(GLOBEX).memberships.remove({ id: 2, email });
  await app.as(ROOT).users.update({ email, is_active: true, apps: [SALES] });
  await requireHidden(app, email);
});

accounts('is not for admins once the person has had a role for all clients', async ({ app }) => {
  const email = await addPerson(app, [SALES]);
  await app.as(ROOT).roles.update({ email, is_staff: true });
  await app.as(ROOT).roles.update({ email, is_staff: false });
  await requireHidden(app, email);
});

accounts.run();
