import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole, showing } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, GLOBEX, ROOT, type TestApp } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const memberships = browserSuite('memberships in the console');

const EXTRA = { region: 'all' };
let created = 0;

/** A new person of both clients, with an app of each; returns the address and the screen. */
const addShared = async (app: TestApp, first_name = 'Bo') => {
  created += 1;
  const email = `both-${created}@globex.test`;
  await app
    .as(ROOT)
    .users.create({ email, first_name, last_name: 'Shared', apps: [FLEET, SALES], extra: EXTRA });
  return { email, path: `/console/people/${email}` };
};

const openPerson = async (page: Page, path: string, as: string): Promise<void> => {
  await openConsole(page, path, as);
  await waitForHeading(page, 'Bo Shared');
};

const showTab = (page: Page, name: string) => page.getByRole('tab', { name }).click();
const clientsOf = (page: Page) => page.getByRole('region', { name: 'Clients' });
const rowOf = (page: Page, client: string) =>
  clientsOf(page).getByRole('listitem').filter({ hasText: client });
const profileOf = (page: Page) => page.getByRole('form', { name: 'Profile' });

/** A person whose membership in Acme is suspended and has data of its own. */
const addSuspended = async (app: TestApp, name: string) => {
  const person = await addShared(app, name);
  const changes = { id: 1, email: person.email, extra: { region: ['North', 'South'] }, is_demo_user: true };
  await app.as(ACME).memberships.update({ ...changes, is_active: false });
  return person;
};

testAppearance(memberships, {
  'console-person-shared': async (page, app) => {
    const { path } = await addShared(app, 'Cleo');
    await showing(path, 'Cleo Shared')(page, app);
  },
  'console-person-suspended': async (page, app) => {
    const { path } = await addSuspended(app, 'Dana');
    await showing(path, 'Dana Shared', ROOT)(page, app);
  },
  'console-offboard-from-client': async (page, app) => {
    const { path, email } = await addShared(app, 'Finn');
    await app.as(ACME).accessViews.create({ app: 'sales', user_email: email });
    await showing(path, 'Finn Shared', ROOT)(page, app);
    await page.getByRole('button', { name: 'Offboard from Acme Analytics' }).click();
    await page.getByRole('dialog').getByText('1 share link').waitFor();
  },
});

memberships('are suspended by an admin, and another client notices nothing', async ({ app, page }) => {
  const { email, path } = await addShared(app);
  const seen = async () => [
    await app.as(GLOBEX).users.get({ email }),
    await app.as(GLOBEX).memberships.list({ email }),
    await app.as(GLOBEX).audit.list({ target: email }),
  ];
  const before = await seen();
  await openPerson(page, `${path}?tab=profile`, ACME);
  await profileOf(page)
    .getByText('Only the person, superusers, and admins of all their clients can change the name')
    .waitFor();
  assert.is(await page.getByLabel('First name').getAttribute('readonly'), '');
  await page.getByRole('button', { name: 'Suspend…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Suspend Bo Shared in Acme Analytics?' });
  await dialog.getByText('other clients are not affected').waitFor();
  await dialog.getByRole('button', { name: 'Suspend' }).click();
  await page.getByText('Bo Shared was suspended').waitFor();
  await showTab(page, 'Access');
  await rowOf(page, 'Acme Analytics').getByText('Suspended', { exact: true }).waitFor();
  await page.getByRole('heading', { name: 'Kept while suspended in Acme Analytics' }).waitFor();
  assert.equal(await seen(), before);
  await page.getByRole('button', { name: 'Reactivate' }).click();
  await page.getByText('Bo Shared was reactivated in Acme Analytics').waitFor();
  await page.getByRole('heading', { name: 'Has 1 app' }).waitFor();
  await showTab(page, 'History');
  await page.getByText(/Alex Acme suspended .* in Acme Analytics/).waitFor();
});

memberships('have data of their own', async ({ app, page }) => {
  const { email, path } = await addShared(app);
  await openPerson(page, `${path}?tab=profile`, ACME);
  const extra = page.getByLabel('Extra data');
  assert.equal(JSON.parse(await extra.inputValue()), EXTRA);
  const save = profileOf(page).getByRole('button', { name: 'Save' });
  assert.equal((await app.as(ACME).users.get({ email })).extra, EXTRA);
  await extra.fill('{"region": "north"}');
  await page.getByRole('switch', { name: 'Demo account' }).click();
  await save.click();
  await page.getByText('Saved.').waitFor();
  await showTab(page, 'Access');
  await rowOf(page, 'Acme Analytics')
    .getByText('For the apps of this client: Demo account: on; region: north')
    .waitFor();

  const [ofAcme, ofGlobex] = [
    await app.as(ACME).users.get({ email }),
    await app.as(GLOBEX).users.get({ email }),
  ];
  assert.equal([ofAcme.extra, ofAcme.is_demo_user], [{ region: 'north' }, true]);
  assert.equal([ofGlobex.extra, ofGlobex.is_demo_user], [EXTRA, false]);
});

memberships(
  'of one of several clients end after a preview, and an undo returns them',
  async ({ app, page }) => {
    const { email, path } = await addShared(app);
    await openPerson(page, path, ROOT);
    await page.getByRole('button', { name: 'Offboard from Acme Analytics' }).click();
    const dialog = page.getByRole('dialog', { name: 'Offboard Bo Shared from Acme Analytics?' });
    await dialog.getByText('1 granted app: Sales').waitFor();
    assert.is(await dialog.getByRole('listitem').count(), 1);
    await dialog.getByText('other clients stay as they are').waitFor();
    const apps = async () => (await app.as(ROOT).users.get({ email })).apps;
    assert.is((await apps()).length, 2, 'nothing ends before the answer');
    await dialog.getByRole('button', { name: 'Offboard' }).click();
    await page.getByText('Bo Shared was offboarded from Acme Analytics').waitFor();
    await rowOf(page, 'Acme Analytics').getByText('Suspended', { exact: true }).waitFor();
    assert.equal(await apps(), [FLEET]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Undone: 2 changes.').waitFor();
    assert.is((await apps()).length, 2);
  },
);

memberships.run();
