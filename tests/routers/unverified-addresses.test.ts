import * as assert from 'uvu/assert';
import { mailedEmailToken, mailedPasswordPath } from '../support/mails.ts';
import { ACME, appSuite, GLOBEX, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const unverified = appSuite('an address that its mailbox has not confirmed');

const PASSWORD = 'a new-Password-2043';

let created = 0;

/** An address that Globex knows: it has invited it, and one of its apps has recorded usage of it. */
const addVictim = async (app: TestApp): Promise<string> => {
  created += 1;
  const email = `victim-${created}@globex.test`;
  const extra = { team: 'of-globex' };
  await app
    .as(GLOBEX)
    .invitations.create({ items: [{ email, client: 2, extra, initial_apps: [FLEET] }], dry_run: false });
  const entry = { email, full_name: 'Victoria of-globex', action: 'OPEN', extra };
  await app.as(GLOBEX).usage.record({ app_id: FLEET, entries: [entry] });
  return email;
};

const changeByAdmin = async (app: TestApp, from: string, to: string): Promise<void> => {
  await app.db().deleteFrom('rate_limits').where('key', 'like', 'email-change:%').execute();
  await app.as(ACME).users.changeEmail({ email: from, new_email: to });
  await app.as(null).profile.confirmEmail({ token: await mailedEmailToken(app, to, 'confirm') });
};

const setPassword = async (app: TestApp, email: string): Promise<void> => {
  const path = await mailedPasswordPath(app, email);
  const token = new URL(path, 'http://x').searchParams.get('token') ?? '';
  await app.as(null).passwords.reset({ token, password: PASSWORD });
};

/** All that an export of a person has, as text. */
const exportOf = async (app: TestApp, email: string, as = email): Promise<string> => {
  const rows: unknown[] = [];
  for await (const { part, items } of await app.as(as).users.export({ email })) rows.push([part, items]);
  return JSON.stringify(rows);
};

const usersOfDays = async (app: TestApp, appId: string): Promise<string[]> => {
  const days = app.db().selectFrom('usage_days').select('email').where('app_id', '=', appId).distinct();
  return (await days.orderBy('email').execute()).map(({ email }) => email);
};

unverified('leaves nothing of its owner to the account that had it', async ({ app }) => {
  const victim = await addVictim(app);
  const thief = `thief-of-${victim}`;
  await app.as(ACME).users.create({ email: victim, apps: [SALES] });
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email: victim, action: 'OPEN' }] });
  await changeByAdmin(app, victim, thief);
  await setPassword(app, thief);

  assert.not.match(await exportOf(app, thief), 'of-globex');
  const isKnown = async (appId: string) => (await usersOfDays(app, appId)).includes(thief);
  assert.equal([await isKnown(SALES), await isKnown(FLEET)], [true, false]);
  assert.ok((await usersOfDays(app, FLEET)).includes(victim));
});

unverified('belongs to the person once they have set a password by the mailed link', async ({ app }) => {
  const email = 'first@acme.test';
  const later = 'later@acme.test';
  await app.as(ACME).users.create({ email, apps: [SALES], send_email: true });
  await setPassword(app, email);
  await app.as(ACME).usage.record({ app_id: SALES, entries: [{ email, action: 'OPEN' }] });
  await changeByAdmin(app, email, later);

  const people = await usersOfDays(app, SALES);
  assert.equal([people.includes(email), people.includes(later)], [false, true]);
  assert.match(await exportOf(app, later), '"action":"OPEN"');
});

unverified.run();
