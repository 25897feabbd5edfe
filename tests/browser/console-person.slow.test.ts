import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole, showing } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ADA, DEMO_PASSWORD, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const person = browserSuite('a person in the console');

const openPerson = async (page: Page, as: string, email: string, name: string, tab = 'access') => {
  await openConsole(page, `/console/people/${email}?tab=${tab}`, as);
  await waitForHeading(page, name);
};

/** In the menu of the person. */
const choose = async (page: Page, name: string): Promise<void> => {
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name }).click();
};

/** Mails that were sent to a user since they joined the client, one a minute. */
const addMails = async (app: TestApp, recipient: string, count: number): Promise<void> => {
  app.clock.advance(count * MINUTE_MS);
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
    await showing(`/console/people/${GRACE}?tab=security`, 'Grace Hopper', ROOT)(page, app);
  },
});

person('a superuser grants the role staff', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ROOT, GRACE, 'Grace Hopper', 'security');
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
  await choose(page, 'Log out everywhere…');
  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 200);
  await page.getByRole('dialog').getByRole('button', { name: 'Log out' }).click();
  await page.getByText('is logged out everywhere').waitFor();

  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 401);
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Log out everywhere' }).waitFor();
  assert.is(await page.getByRole('menuitem', { name: 'Erase this person' }).count(), 0);
});

person('an admin ends one session of a person and revokes one token', async ({ app, browser }) => {
  const headers = { authorization: `Token ${await addCredentials(app, ADA)}` };
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ACME, ADA, 'Ada Lovelace', 'security');
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
  await openPerson(page, ACME, ADA, 'Ada Lovelace', 'profile');
  await page.getByRole('switch', { name: 'Active' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: `Deactivate ${ADA}?` });
  await dialog.getByText('They are logged out at once').waitFor();
  assert.ok((await app.as(ACME).users.get({ email: ADA })).is_active);
  await dialog.getByRole('button', { name: 'Deactivate' }).click();
  await page.getByText('Saved.').waitFor();
  assert.is((await app.as(ACME).users.get({ email: ADA })).is_active, false);
  await app.as(ACME).users.update({ email: ADA, is_active: true });
  await openConsole(page, `/console/people/${ROOT}?tab=profile`, ROOT);

  await page.getByText('You cannot deactivate your own account.').waitFor();
  await page.getByText('Active: may log in – Yes').waitFor();
  assert.is(await page.getByRole('switch', { name: 'Active' }).count(), 0);
});

person('the timeline leads to each mail, and the apps say who granted them', async ({ app, browser }) => {
  for (const apps of [[], [CHURN]]) await app.as(ROOT).users.update({ email: ADA, apps });
  await addMails(app, ADA, 12);
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ACME, ADA, 'Ada Lovelace');
  await page.getByText(`Granted by ${ROOT}`).waitFor();
  await page.getByRole('tab', { name: 'Mails & invitations' }).click();
  const subjects = page.getByRole('link', { name: 'Your password' });
  await subjects.first().waitFor();
  assert.is(await subjects.count(), 10);
  await page.getByRole('button', { name: 'Show older' }).click();
  await subjects.nth(11).click();

  await page.getByText(`To ${ADA}`).waitFor();
});

/** A person with an app, a group that gives another, a link and a token. */
const addLeaver = async (app: TestApp, email: string): Promise<void> => {
  const acme = app.as(ACME);
  await acme.users.create({ email, first_name: 'Lea', last_name: 'Leaver', apps: [SALES] });
  await acme.groups.create({ id: 1, name: `Analysts with ${email}`, members: [email], apps: [CHURN] });
  await acme.accessViews.create({ app: 'sales', user_email: email });
  await app.tokenOf(email);
};

testAppearance(person, {
  'console-offboard': async (page, app) => {
    await addLeaver(app, 'lea@acme.test');
    await openPerson(page, ACME, 'lea@acme.test', 'Lea Leaver');
    await page.getByRole('button', { name: 'Offboard…' }).click();
    await page.getByRole('dialog').getByText('1 granted app: Sales').waitFor();
  },
  'console-person-activity': showing(`/console/people/${GRACE}?tab=activity`, 'Grace Hopper'),
  'console-person-history': showing(`/console/people/${GRACE}?tab=history`, 'Grace Hopper'),
});

person('an admin offboards a person after a list of what ends, and undoes it', async ({ app, browser }) => {
  const email = 'leo@acme.test';
  await addLeaver(app, email);
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ACME, email, 'Lea Leaver');
  await page.getByRole('button', { name: 'Offboard…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Offboard Lea Leaver?' });
  for (const line of [
    '1 API token',
    '1 granted app: Sales',
    `1 group: Analysts with ${email}`,
    '1 share link',
  ])
    await dialog.getByText(line).waitFor();
  assert.ok((await app.as(ACME).users.get({ email })).is_active, 'nothing ends before the answer');
  await dialog.getByRole('button', { name: 'Offboard' }).click();
  await page.getByText('Lea Leaver was offboarded').waitFor();
  await page.locator('main').getByText('Inactive', { exact: true }).first().waitFor();
  const { apps, is_active } = await app.as(ACME).users.get({ email });
  assert.equal([apps, is_active], [[], false]);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Undone: 4 changes.').waitFor();

  assert.equal((await app.as(ACME).users.get({ email })).apps, [SALES, CHURN]);
  await page.getByRole('tab', { name: 'History' }).click();
  await page.getByText(`Removed from the group Analysts with ${email}`).waitFor();
  await page.getByText(`Added to the group Analysts with ${email}`).first().waitFor();
  assert.match(page.url(), /tab=history/);
});

person('an inactive person is reactivated instead of offboarded', async ({ app, browser }) => {
  const email = 'back@acme.test';
  await app
    .as(ACME)
    .users.create({ email, first_name: 'Bea', last_name: 'Back', client: 1, send_email: false });
  await app.as(ACME).users.deactivate({ email });
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ACME, email, 'Bea Back');
  assert.is(await page.getByRole('button', { name: 'Offboard…' }).count(), 0);
  await page.getByRole('button', { name: 'Reactivate…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Reactivate Bea Back?' });
  await dialog.getByRole('button', { name: 'Reactivate' }).click();

  await page.getByText('Bea Back is active again.').waitFor();
  await page.getByRole('button', { name: 'Offboard…' }).waitFor();
  assert.ok((await app.as(ACME).users.get({ email })).is_active);
});

person('a person without a password is mailed a link from what needs attention', async ({ app, browser }) => {
  const email = 'quartz@new.test';
  const names = { first_name: 'Zoé', last_name: 'Zett' };
  await app.as(ACME).users.create({ email, ...names, client: 1, send_email: false });
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ACME, email, 'Zoé Zett');
  const avatar = page.locator('main img').first();
  assert.match((await avatar.getAttribute('src')) ?? '', /\/avatars\/Z\.svg$/, 'the initial of the name');
  await page.getByRole('region', { name: 'Needs attention' }).getByRole('button').click();
  const dialog = page.getByRole('dialog', { name: `Mail a password link to ${email}?` });
  await dialog.getByRole('button', { name: 'Mail the link' }).click();

  await page.getByText(`A link to set a password is on its way to ${email}.`).waitFor();
});

person('a superuser erases a person after typing the address', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ROOT, 'idle@acme.test', 'Ida Idle');
  await choose(page, 'Erase this person…');
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
    await openConsole(page, `/console/people/${ADA}?tab=profile`, ACME);
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
