import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, REFUSED, waitForHeading } from '../support/browser.ts';
import { chooseFromMenu, goTo, openConsole, waitForData } from '../support/console.ts';
import { addRows, rowOf } from '../support/rows.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, DEMO_PASSWORD, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const person = browserSuite('a person in the console', REFUSED);

const openPerson = async (page: Page, as: string, email: string, name: string, tab = 'access') => {
  await openConsole(page, `/console/people/${email}?tab=${tab}`, as);
  await waitForHeading(page, name);
};
const isActive = async (app: TestApp, email: string) => (await app.as(ACME).users.get({ email })).is_active;

/** A session and a named token of a user; returns the token. */
const addCredentials = async (app: TestApp, email: string): Promise<string> => {
  const payload = { username: email, password: DEMO_PASSWORD };
  await app.send('POST /session/', { payload, headers: { 'user-agent': `Laptop of ${email}` } });
  return (await app.as(email).tokens.createNamed({ name: 'nightly export' })).token;
};

person('an admin ends one session and one token of a person, and then all logins', async ({ app, page }) => {
  const payload = { username: ADA, password: DEMO_PASSWORD };
  const { token } = (await app.send('POST /api-token-auth/', { payload })).json();
  const named = await addCredentials(app, ADA);
  const statusOf = async (secret: string) =>
    (await app.send('GET /jb/apps/', { headers: { authorization: `Token ${secret}` } })).statusCode;
  await openPerson(page, ACME, ADA, 'Ada Lovelace', 'security');
  const session = page.getByRole('row', { name: `Laptop of ${ADA}` });
  await session.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Session revoked.').waitFor();
  await session.waitFor({ state: 'detached' });
  await page.getByText('No browser is logged in.').waitFor();
  await page.getByRole('button', { name: 'Revoke nightly export' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Token revoked.').waitFor();
  assert.equal([await statusOf(named), await statusOf(token)], [401, 200]);

  await chooseFromMenu(page, 'Log out everywhere…');
  await page.getByRole('dialog').getByRole('button', { name: 'Log out' }).click();
  await page.getByText('is logged out everywhere').waitFor();
  assert.is(await statusOf(token), 401);
});

person(
  'an admin renames a person, which the history tells, suspends them, and reactivates them',
  async ({ app, page }) => {
    await openPerson(page, ACME, GRACE, 'Grace Hopper', 'profile');
    const name = page.getByLabel('First name');
    const save = page.getByRole('form', { name: 'Profile' }).getByRole('button', { name: 'Save' });
    await name.fill('A'.repeat(300));
    await save.click();
    await page.locator('input[aria-invalid=true]').waitFor();
    await name.fill('Amazing Grace');
    await save.click();
    await page.getByText('Saved.').waitFor();
    await waitForHeading(page, 'Amazing Grace Hopper');

    await page.getByRole('button', { name: 'Suspend…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Suspend Amazing Grace Hopper?' });
    await dialog.getByText('They are logged out at once').waitFor();
    await assertLooksGood(page, 'console-suspend');
    assert.ok(await isActive(app, GRACE));
    await dialog.getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('Amazing Grace Hopper was suspended').waitFor();
    await page.locator('main').getByText('Suspended', { exact: true }).first().waitFor();
    assert.is(await isActive(app, GRACE), false);
    await page.getByRole('button', { name: 'Reactivate' }).click();
    await page.getByText('Amazing Grace Hopper was reactivated').waitFor();
    assert.ok(await isActive(app, GRACE));
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByText('First name: changed').waitFor();
    await waitForData(page);
    await assertLooksGood(page, 'console-person-history');
    await page.getByRole('tab', { name: 'Activity' }).click();
    await waitForData(page);
    await assertLooksGood(page, 'console-person-activity');
    await app.as(ACME).users.update({ email: GRACE, first_name: 'Grace' });
  },
);

person('the timeline leads to each mail, and apps say who granted them', async ({ app, page }) => {
  for (const apps of [[], [CHURN]]) await app.as(ROOT).users.update({ email: ADA, apps });
  const { id: user_id } = await rowOf(app, 'users', { email: ADA });
  const [at, kind] = [app.clock.now(), 'password-changed'] as const;
  const mail = { kind, recipient: ADA, user_id, created_at: at, next_attempt_at: at, sent_at: at };
  await addRows(app, 'outbox_mails', mail);
  await openPerson(page, ACME, ADA, 'Ada Lovelace');
  await page.getByText(`Granted by ${ROOT}`).waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-person');
  await page.getByRole('tab', { name: 'Mails & invitations' }).click();
  await page.getByRole('link', { name: /password/ }).click();
  await page.getByText(`To ${ADA}`).waitFor();
});

person('an admin offboards a person after a list of what ends, and undoes it', async ({ app, page }) => {
  const email = 'leo@acme.test';
  const group = 'Analysts';
  const acme = app.as(ACME);
  await acme.users.create({ email, first_name: 'Lea', last_name: 'Leaver', apps: [SALES] });
  await acme.groups.create({ id: 1, name: group, members: [email], apps: [CHURN] });
  await acme.accessViews.create({ app: 'sales', user_email: email });
  await app.tokenOf(email);
  await openPerson(page, ACME, email, 'Lea Leaver');
  await page.getByRole('button', { name: 'Offboard…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Offboard Lea Leaver?' });
  for (const line of ['1 API token', '1 granted app: Sales', `1 group: ${group}`, '1 share link'])
    await dialog.getByText(line).waitFor();
  await assertLooksGood(page, 'console-offboard');
  assert.ok(await isActive(app, email), 'nothing ends before the answer');
  await dialog.getByRole('button', { name: 'Offboard' }).click();
  await page.getByText('Lea Leaver was offboarded').waitFor();
  await page.locator('main').getByText('Suspended', { exact: true }).first().waitFor();
  assert.equal([(await acme.users.get({ email })).apps, await isActive(app, email)], [[], false]);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Undone: 4 changes.').waitFor();
  assert.equal((await acme.users.get({ email })).apps, [SALES, CHURN]);
  await page.getByRole('tab', { name: 'History' }).click();
  for (const sentence of ['offboarded Lea Leaver', 'undid the offboarding of Lea Leaver'])
    await page.getByText(sentence).waitFor();
});

person(
  'a suspended person is reactivated with one click, and another is mailed a link',
  async ({ app, page }) => {
    const [email, other] = ['back@acme.test', 'quartz@new.test'];
    const acme = app.as(ACME).users;
    await acme.create({ email, first_name: 'Bea', last_name: 'Back', client: 1, send_email: false });
    await acme.create({ email: other, first_name: 'Zoé', last_name: 'Zett', client: 1, send_email: false });
    await acme.deactivate({ email });
    await openPerson(page, ACME, email, 'Bea Back');
    await page.getByRole('button', { name: 'Reactivate' }).click();
    await page.getByText('Bea Back was reactivated').waitFor();
    await page.getByRole('button', { name: 'Suspend…' }).waitFor();
    assert.ok(await isActive(app, email));

    await goTo(page, `/console/people/${other}`);
    await waitForHeading(page, 'Zoé Zett');
    await page.getByRole('region', { name: 'Needs attention' }).getByRole('button').click();
    const link = page.getByRole('dialog', { name: `Mail a password link to ${other}?` });
    await link.getByRole('button', { name: 'Mail the link' }).click();
    await page.getByText('No mail server is set up, so the mail stays queued.').waitFor();
  },
);

person('a superuser erases a person after typing the address', async ({ app, page }) => {
  await openPerson(page, ROOT, ROOT, 'Robin Root', 'profile');
  await page.getByLabel('First name').waitFor();
  assert.is(await page.getByRole('button', { name: /Suspend|Offboard/ }).count(), 0);
  await goTo(page, '/console/people/idle@acme.test');
  await waitForHeading(page, 'Ida Idle');
  await chooseFromMenu(page, 'Erase this person…');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('You cannot undo it').waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Erase' }).isDisabled());
  await dialog.getByLabel('Type the email address').fill('idle@acme.test');
  await dialog.getByRole('button', { name: 'Erase' }).click();
  await waitForHeading(page, 'People');
  assert.is((await app.send('GET /jb/users/idle@acme.test/', { as: ROOT })).statusCode, 404);
});

person('a superuser grants the role staff', async ({ app, page }) => {
  await addCredentials(app, GRACE);
  await app.as(GLOBEX).clients.invite({ id: 2, email: GRACE });
  await openPerson(page, ROOT, GRACE, 'Grace Hopper', 'security');
  await page.getByRole('switch', { name: 'Staff' }).click();
  await page.getByText('Saved.').waitFor();
  assert.equal(await app.as(ROOT).roles.get({ email: GRACE }), { is_staff: true, is_superuser: false });
  await waitForData(page);
  await assertLooksGood(page, 'console-person-as-superuser');
  await app.as(ROOT).roles.update({ email: GRACE, is_staff: false });
});

person.run();
