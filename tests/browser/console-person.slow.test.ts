import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole, showing } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ADA, DEMO_PASSWORD, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN } from '../support/usage.ts';

const person = browserSuite('a person in the console');

const openPerson = async (page: Page, as: string, email: string, name: string): Promise<void> => {
  await openConsole(page, `/console/people/${email}`, as);
  await waitForHeading(page, name);
};

/** Mails that were sent to a user, one a minute. */
const addMails = async (app: TestApp, recipient: string, count: number): Promise<void> => {
  const user = app.db().selectFrom('users').select('id').where('email', '=', recipient);
  const { id: user_id } = await user.executeTakeFirstOrThrow();
  const mails = Array.from({ length: count }, (_, age) => {
    const at = new Date(app.clock.now().getTime() - age * MINUTE_MS);
    const times = { created_at: at, next_attempt_at: at, sent_at: at };
    return { kind: 'password-changed' as const, recipient, user_id, ...times };
  });
  await app.db().insertInto('outbox_mails').values(mails).execute();
};

/** A session and a named token of a user; returns the token. */
const addCredentials = async (app: TestApp, email: string): Promise<string> => {
  const payload = { username: email, password: DEMO_PASSWORD };
  await app.send('POST /session/', { payload, headers: { 'user-agent': `Laptop of ${email}` } });
  return (await app.as(email).tokens.createNamed({ name: 'nightly export' })).token;
};

testAppearance(person, {
  'console-person-as-superuser': async (page, app) => {
    await addCredentials(app, GRACE);
    await addMails(app, GRACE, 3);
    await app.as(GLOBEX).clients.invite({ id: 2, email: GRACE });
    await app.as(ROOT).users.update({ email: GRACE, apps: [CHURN] });
    await showing(`/console/people/${GRACE}`, 'Grace Hopper', ROOT)(page, app);
  },
});

person('a superuser grants the role staff', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ROOT, GRACE, 'Grace Hopper');
  await page.getByRole('switch', { name: 'Staff' }).click();
  await page.getByText('Saved.').waitFor();

  assert.equal(await app.as(ROOT).roles.get({ email: GRACE }), { is_staff: true, is_superuser: false });
});

person('an admin ends all logins of a person, after a question', async ({ app, browser }) => {
  const payload = { username: ADA, password: DEMO_PASSWORD };
  const { token } = (await app.send('POST /api-token-auth/', { payload })).json();
  const headers = { authorization: `Token ${token}` };
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ACME, ADA, 'Ada Lovelace');
  await page.getByRole('button', { name: 'Log out everywhere' }).click();
  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 200);
  await page.getByRole('dialog').getByRole('button', { name: 'Log out' }).click();
  await page.getByText('is logged out everywhere').waitFor();

  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 401);
  assert.is(await page.getByRole('button', { name: 'Erase this person' }).count(), 0);
});

person('an admin ends one session of a person and revokes one token', async ({ app, browser }) => {
  const headers = { authorization: `Token ${await addCredentials(app, ADA)}` };
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ACME, ADA, 'Ada Lovelace');
  const session = page.getByRole('row', { name: `Laptop of ${ADA}` });
  await session.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Session revoked.').waitFor();
  await session.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Revoke nightly export' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Token revoked.').waitFor();

  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 401);
  assert.equal(await app.as(ACME).sessions.listByUser({ email: ADA }), []);
  await page.getByText('No browser is logged in.').waitFor();
});

person('an admin deactivates a person after a question, and not themselves', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ACME, ADA, 'Ada Lovelace');
  await page.getByRole('switch', { name: 'Active' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: `Deactivate ${ADA}?` });
  await dialog.getByText('They are logged out at once').waitFor();
  assert.ok((await app.as(ACME).users.get({ email: ADA })).is_active);
  await dialog.getByRole('button', { name: 'Deactivate' }).click();
  await page.getByText('Saved.').waitFor();
  assert.is((await app.as(ACME).users.get({ email: ADA })).is_active, false);
  await app.as(ACME).users.update({ email: ADA, is_active: true });
  await openConsole(page, `/console/people/${ROOT}`, ROOT);

  await page.getByText('You cannot deactivate your own account.').waitFor();
  assert.ok(await page.getByRole('switch', { name: 'Active' }).isDisabled());
});

person('the timeline leads to each mail, and the apps say who granted them', async ({ app, browser }) => {
  for (const apps of [[], [CHURN]]) await app.as(ROOT).users.update({ email: ADA, apps });
  await addMails(app, ADA, 12);
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ACME, ADA, 'Ada Lovelace');
  await page.getByText(`Granted by ${ROOT}`).waitFor();
  const subjects = page.getByRole('link', { name: 'Your password' });
  await subjects.first().waitFor();
  assert.is(await subjects.count(), 10);
  await page.getByRole('button', { name: 'Show older' }).click();
  await subjects.nth(11).click();

  await page.getByText(`To ${ADA}`).waitFor();
});

person('a superuser erases a person after typing the address', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ROOT, 'idle@acme.test', 'Ida Idle');
  await page.getByRole('button', { name: 'Erase this person' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('It cannot be undone').waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Erase' }).isDisabled());
  await dialog.getByLabel('Type the email address').fill('idle@acme.test');
  await dialog.getByRole('button', { name: 'Erase' }).click();
  await waitForHeading(page, 'People');

  assert.is((await app.send('GET /jb/users/idle@acme.test/', { as: ROOT })).statusCode, 404);
});

person(
  'a first name cannot be emptied, and one that is too long says so at its field',
  async ({ app, browser }) => {
    await using visit = await browser.open(/status of 400/);
    const { page } = visit;
    await openConsole(page, `/console/people/${ADA}`, ACME);
    const name = page.getByLabel('First name');
    const save = page.getByRole('form', { name: 'Profile' }).getByRole('button', { name: 'Save' });
    await name.fill('');
    await save.click();
    assert.is((await app.as(ACME).users.get({ email: ADA })).first_name, 'Ada');
    await name.fill('A'.repeat(300));
    await save.click();
    await page.locator('input[aria-invalid=true]').waitFor();

    assert.is(await page.getByRole('alert').count(), 0);
    assert.is(await page.getByRole('button', { name: 'Copy the ID of the request' }).count(), 0);
  },
);

person.run();
