import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole, showing } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ADA, GRACE, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const groups = browserSuite('groups in the console');

let created = 0;

const addGroup = async (app: TestApp, members: string[] = [], apps: string[] = []) => {
  created += 1;
  const group = await app.as(ACME).groups.create({ id: 1, name: `Team ${created}`, members, apps });
  return { ...group, path: `/console/groups/1/${group.id}` };
};
const openRemoval = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Remove group' }).click();
};
const membersOf = (page: Page) => page.getByRole('table', { name: 'Members' });
const read = (app: TestApp, group_id: number) => app.as(ACME).groups.get({ id: 1, group_id });

testAppearance(groups, {
  'console-groups-empty': (page, app) => showing('/console/groups?client=2', 'Groups', ROOT)(page, app),
  'console-groups': async (page, app) => {
    await addGroup(app, [ADA, GRACE], [SALES, CHURN]);
    await showing('/console/groups?client=1', 'Groups', ROOT)(page, app);
    await page.getByRole('link', { name: 'Team 1' }).waitFor();
  },
  'console-group': async (page, app) => {
    const { path, name } = await addGroup(app, [ADA, GRACE, 'idle@acme.test'], [SALES, CHURN]);
    await showing(path, name)(page, app);
    await page.getByText('Sales', { exact: true }).waitFor();
  },
  'console-new-group': async (page, app) => {
    await showing('/console/groups', 'Groups')(page, app);
    await page.getByRole('button', { name: 'New group' }).click();
    await page.getByRole('dialog', { name: 'New group' }).waitFor();
  },
  'console-remove-group': async (page, app) => {
    const { path, name } = await addGroup(app, [GRACE], [CHURN]);
    await showing(path, name)(page, app);
    await openRemoval(page);
    await page.getByRole('dialog').getByText('No one loses an app').waitFor();
  },
});

groups('are created with apps, and get members by name and by address', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/');
  await page.getByRole('link', { name: 'Groups' }).click();
  await page.getByRole('button', { name: 'New group' }).click();
  const dialog = page.getByRole('dialog', { name: 'New group' });
  await dialog.getByLabel('Name').fill('Forecasters');
  await dialog.getByRole('checkbox', { name: 'Churn' }).check();
  await dialog.getByRole('button', { name: 'Create' }).click();
  await waitForHeading(page, 'Forecasters');
  await page.getByText('No one belongs to this group yet.').waitFor();
  const input = page.getByRole('combobox', { name: 'Add people' });
  await input.fill('Lovel');
  await page.getByRole('option', { name: 'Ada Lovelace' }).click();
  await membersOf(page).getByRole('link', { name: 'Ada Lovelace' }).waitFor();
  await input.fill(`${GRACE}, idle@acme.test`);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await membersOf(page).getByRole('link', { name: 'Ida Idle' }).waitFor();
  assert.is(await input.inputValue(), '');

  const [{ id, members, apps } = { id: 0, members: [], apps: [] }] = await Promise.all(
    (await app.as(ACME).groups.list({ id: 1 }))
      .filter(({ name }) => name === 'Forecasters')
      .map((group) => read(app, group.id)),
  );
  assert.equal([members, apps], [[ADA, GRACE, 'idle@acme.test'], [CHURN]]);
  await page.getByRole('button', { name: `Remove ${GRACE}` }).click();
  await page.getByText(`Removed ${GRACE}.`).waitFor();
  assert.equal((await read(app, id)).members, [ADA, 'idle@acme.test']);
  await openConsole(page, '/console/audit?target=Forecasters');
  await page.getByText(`Members: removed ${GRACE}`).waitFor();
  await page.getByText(`Members: added ${ADA}`).waitFor();
  await app.as(ACME).groups.remove({ id: 1, group_id: id });
});

groups('say at the field who is no member of the client', async ({ app, browser }) => {
  const { path } = await addGroup(app);
  await using visit = await browser.open(/status of 400/);
  const { page } = visit;
  await openConsole(page, path);
  await page.getByRole('combobox', { name: 'Add people' }).fill('edsger@globex.test');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('edsger@globex.test is no member of this client.').waitFor();
  assert.is(await page.getByRole('combobox', { name: 'Add people' }).inputValue(), 'edsger@globex.test');
});

groups('say who loses an app before it is taken out', async ({ app, browser }) => {
  const email = 'only-here@acme.test';
  await app.as(ACME).users.create({ email, first_name: 'Olga', client: 1 });
  const { path, id } = await addGroup(app, [email], [SALES, CHURN]);
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, path);
  const apps = page.getByRole('combobox', { name: 'Apps' });
  await apps.click();
  await page.keyboard.press('Backspace');
  await page.getByText('1 person loses Churn: only this group gives it to them.').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').waitFor();
  assert.equal((await read(app, id)).apps, [SALES]);

  await openRemoval(page);
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Sales: 1 person').waitFor();
  await dialog.getByRole('button', { name: 'Remove group' }).click();
  await waitForHeading(page, 'Groups');
  await page.getByText('Group removed.').waitFor();
  assert.equal((await app.as(ACME).users.get({ email })).apps, []);
});

groups('give an app to their members for two weeks', async ({ app, browser }) => {
  const emails = ['auditor-1@acme.test', 'auditor-2@acme.test'];
  for (const email of emails) await app.as(ACME).users.create({ email, client: 1 });
  const { path } = await addGroup(app, emails);
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, path);
  await page.getByRole('button', { name: 'Grant apps until…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('checkbox', { name: 'Churn' }).check();
  await dialog.getByRole('button', { name: 'Grant' }).click();
  await page.getByText(/^Granted Churn until .*: 2 changed$/).waitFor();
  const granted = await app.as(ACME).grants.list({ app_id: CHURN });
  assert.ok(granted.find(({ email }) => email === emails[0])?.expires_at);
});

groups('are shown to staff, who change nothing', async ({ app, browser }) => {
  const { path, name } = await addGroup(app, [ADA], [SALES]);
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, path, STAFF);
  await waitForHeading(page, name);
  await membersOf(page).getByRole('link', { name: 'Ada Lovelace' }).waitFor();
  const buttons = page.locator('main').getByRole('button', { name: /Save|Add|Remove|Delete|Grant/ });
  assert.is(await buttons.count(), 0);
});

groups.run();
