import { readFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import {
  chooseClient,
  chooseFilter,
  chooseFromMenu,
  goTo,
  openConsole,
  resizeTo,
} from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { enroll } from '../support/second-factors.ts';
import { ACME, ADA, ROOT } from '../support/test-app.ts';
import { eventually } from '../support/time.ts';

const people = browserSuite('people in the console');

people('Ctrl K finds people, apps, clients, invitees and actions', async ({ app, page }) => {
  await app.as(ACME).clients.invite({ id: 1, email: 'guest@new.test' });
  await openConsole(page, '/console/');
  await waitForHeading(page, 'Hello Alex');
  const search = async (text: string): Promise<void> => {
    await page.keyboard.press('Control+K');
    await page.keyboard.type(text);
  };
  // Without a pause for the results.
  await search('gra');
  await page.keyboard.press('Enter');
  await waitForHeading(page, 'Grace Hopper');
  await search('churn');
  await page.keyboard.press('Enter');
  await waitForHeading(page, 'Churn');

  await search('acme');
  const field = page.getByRole('combobox', { name: 'Find people' });
  await page.getByRole('option', { name: 'Acme Analytics', exact: true }).click();
  await waitForHeading(page, 'Acme Analytics');

  await search('nowhere');
  await page.getByText('Nothing matches “nowhere”.').waitFor();
  await page.getByRole('dialog').getByRole('link', { name: 'Invite people' }).waitFor();
  await field.fill('guest');
  await page.getByRole('option', { name: 'guest@new.test' }).click();
  await page.waitForURL('**/console/invitations?search=guest*');
  await page.getByRole('rowheader', { name: 'guest@new.test', exact: true }).waitFor();
  // Also from a field.
  await page.getByRole('searchbox').click();
  await search('dark');
  await page.keyboard.press('Enter');
  await page.locator('html[data-mantine-color-scheme=dark]').waitFor();
});

people(
  'Ctrl K knows other words, parts of screens, actions on people, and the last places',
  async ({ app, page }) => {
    await app.as(ACME).groups.create({ id: 1, name: 'Night shift' });
    await openConsole(page, '/console/');
    await waitForHeading(page, 'Hello Alex');
    const option = (name: string) => page.getByRole('option', { name });
    const search = async (text: string): Promise<void> => {
      await page.keyboard.press('Control+K');
      await page.keyboard.type(text);
    };
    await search('sso');
    await page
      .getByRole('status')
      .getByText(/^\d+ results?$/)
      .waitFor();
    await assertLooksGood(page, 'console-palette');
    await option('Sign-in of Acme Analytics').click();
    await page.waitForURL('**/console/clients/1?tab=sign-in');
    await search('night');
    await option('Night shift').click();
    await waitForHeading(page, 'Night shift');
    await search('suspend');
    await option('Suspend…').click();
    await page.keyboard.type('grace');
    await option('Suspend Grace Hopper').waitFor();
    await page.keyboard.press('Enter');
    await waitForHeading(page, 'Grace Hopper');
    const dialog = (name: string) => page.getByRole('dialog', { name });
    await dialog('Suspend Grace Hopper?').locator(':focus', { hasText: 'Cancel' }).waitFor();
    assert.is(new URL(page.url()).search, '');
    await page.keyboard.press('Escape');
    await page.locator('h1:focus').waitFor();
    // From the screen that is shown already, and from a tab.
    await search('log out grace');
    await option('End sessions of Grace Hopper').click();
    await dialog('Log out grace@acme.test everywhere?').waitFor();
    await page.waitForURL('**/people/*?tab=security');
    await page.keyboard.press('Escape');
    await search('grant grace');
    await option('Grant an app to Grace Hopper').click();
    await dialog('Grant apps to Grace Hopper').waitFor();
    await page.keyboard.press('Escape');
    await search('password link grace');
    await option('Reset the password of Grace Hopper').click();
    await dialog('Mail a password link to grace@acme.test?').waitFor();
    await page.keyboard.press('Escape');
    await search('maintenance sales');
    await option('Maintenance of Sales').click();
    await dialog('Maintenance').waitFor();
    await page.keyboard.press('Escape');
    await search('new share link sales');
    await option('Share links of Sales').waitFor();
    await page.keyboard.press('Escape');
    await search('usage sales');
    await option('Usage of Sales').click();
    await page.waitForURL('**/usage?app=*');

    await page.keyboard.press('Control+K');
    const recent = page.getByRole('group', { name: 'Recent' }).getByRole('option');
    await recent.first().waitFor();
    assert.equal(await recent.allInnerTexts(), [
      'Sales',
      'Grace Hopper\ngrace@acme.test',
      'Night shift',
      'Acme Analytics',
      'Hello Alex',
    ]);
    await assertLooksGood(page, 'console-palette-start');
  },
);

people('the list is filtered, sorted, and kept in the address', async ({ app, page }) => {
  await enroll(app, ADA);
  await app.as(ACME).clients.invite({ id: 1, email: 'newcomer@new.test' });
  await openConsole(page, '/console/people');
  const names = page.getByRole('table', { name: 'People' }).getByRole('link');
  await page.getByRole('button', { name: 'Name' }).click();
  await page.getByRole('columnheader', { name: 'Name' }).and(page.locator('[aria-sort=ascending]')).waitFor();
  await page.waitForURL('**/console/people?sort=name');
  await chooseFilter(page, 'Last login', 'Never');
  await page.getByText('3 people').waitFor();
  await eventually(async () =>
    assert.equal(await names.allInnerTexts(), ['Grace Hopper', 'Ida Idle', 'Ada Lovelace']),
  );
  await chooseFilter(page, 'Second factor', 'With one');
  await page.getByText('1 person').waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Second factor: With one' }).waitFor();
  await eventually(async () => assert.equal(await names.allInnerTexts(), ['Ada Lovelace']));

  await page.getByRole('searchbox', { name: 'Search people' }).fill('newcomer');
  await page.waitForURL('**search=newcomer*');
  await page.getByText('No one matches').waitFor();
  await page.getByRole('link', { name: 'Pending invitations match “newcomer”' }).click();
  await page.getByRole('rowheader', { name: 'newcomer@new.test', exact: true }).waitFor();
  await app.db().deleteFrom('mfa_factors').execute();
});

people('columns are chosen, kept in the browser, and those of the CSV file', async ({ page }) => {
  await openConsole(page, '/console/people?role=member&sort=-email');
  await page.getByText('Ada Lovelace').waitFor();
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'Groups' }).uncheck();
  await page.getByRole('checkbox', { name: 'Apps' }).uncheck();
  await page.getByRole('checkbox', { name: 'Joined' }).check();
  await page.reload();
  await page.getByRole('columnheader', { name: 'Joined' }).waitFor();
  assert.is(await page.getByRole('columnheader', { name: 'Groups' }).count(), 0);

  const [download] = await Promise.all([page.waitForEvent('download'), chooseFromMenu(page, 'Download CSV')]);
  const [heading, ...lines] = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
  const shown = await page.getByRole('row').getByText('@acme.test').allTextContents();
  assert.is(heading?.replace(',last_login', ''), 'first_name,last_name,email,is_active,date_joined');
  assert.equal(
    lines.map((line) => line.split(',')[2]),
    shown,
  );
  assert.ok(shown.length > 1);
});

people('the client that is chosen holds for all lists, until all are chosen', async ({ page }) => {
  await openConsole(page, '/console/people?app=sales', ROOT);
  await page.getByRole('link', { name: 'Ada Lovelace' }).waitFor();
  await chooseClient(page, 'Globex Data');
  await page.waitForURL('**/console/people?client=2');
  await page.getByRole('link', { name: 'Edsger Dijkstra' }).waitFor();
  await page.getByRole('link', { name: 'Invitations', exact: true }).click();
  await page.waitForURL('**/console/invitations?client=2');
  await page.getByRole('link', { name: 'Account', exact: true }).click();
  await page.reload();
  await page.getByRole('button', { name: 'Client: Globex Data' }).waitFor();
  await page.getByRole('link', { name: 'People', exact: true }).click();
  await page.waitForURL('**/console/people?client=2');
  await chooseClient(page, 'All clients');
  await page.waitForURL('**/console/people');
  await page.getByRole('link', { name: 'Ada Lovelace' }).waitFor();
});

people('rows name apps and groups and who opens all apps, and fit a phone', async ({ app, page }) => {
  await app.as(ACME).groups.create({ id: 1, name: 'Analysts', members: [ADA], apps: [] });
  await openConsole(page, '/console/');
  await waitForHeading(page, 'Hello Alex');
  await assertLooksGood(page, 'console-home');
  assert.is(await page.getByRole('button', { name: /^Client: / }).count(), 0, 'there is one client');
  await goTo(page, '/console/people');
  const rowOf = (name: string) => page.getByRole('row').filter({ hasText: name });
  await rowOf('Alex Acme').getByText('All apps').waitFor();
  await rowOf('Ada Lovelace').getByRole('cell', { name: 'Sales Churn' }).waitFor();
  await rowOf('Ada Lovelace').getByText('Analysts').waitFor();
  await assertLooksGood(page, 'console-people');
  await resizeTo(page, { width: 390, height: 844 });
  await page.getByRole('columnheader', { name: 'Groups' }).waitFor({ state: 'detached' });
  await rowOf('Ada Lovelace').getByText('ada@acme.test').waitFor();
});

people('a client without people says so, and offers to invite them', async ({ app, page }) => {
  const site = await app.as(ROOT).sites.create({ domain: 'initech.example.com', name: 'Initech' });
  const { id } = await app.as(ROOT).clients.create({ name: 'Initech', site: site.id });
  await openConsole(page, `/console/people?client=${id}&search=nobody`, ROOT);
  await page.getByText('No one matches').waitFor();
  await page.getByRole('searchbox', { name: 'Search people' }).fill('');
  await page.getByText('No people yet').waitFor();
  await assertLooksGood(page, 'console-people-none');
  await page.getByRole('link', { name: 'Invite the first people' }).click();
  await page.waitForURL(`**/console/invite?client=${id}`);
  await goTo(page, `/console/access?client=${id}`);
  await page.getByText('No people yet').waitFor();
});

people('a view of the list is saved, pinned, opened, changed and deleted', async ({ app, page }) => {
  await openConsole(page, '/console/people');
  await page.getByRole('button', { name: 'View: All people' }).waitFor();
  await chooseFilter(page, 'Status', 'Suspended');
  const chooseInViews = async (view: string, item: string): Promise<void> => {
    await page.getByRole('button', { name: `View: ${view}` }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  await chooseInViews('Custom view', 'Save as view…');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Leavers');
  await dialog.getByRole('checkbox', { name: 'Pin to navigation' }).check();
  await dialog.getByRole('checkbox', { name: 'Share with admins of Acme Analytics' }).check();
  await assertLooksGood(page, 'console-view-save');
  await dialog.getByRole('button', { name: 'Save view' }).click();
  await page.getByRole('button', { name: 'View: Leavers', exact: true }).waitFor();

  await goTo(page, '/console/apps');
  await page.getByRole('link', { name: 'Leavers' }).click();
  await page.getByText('Ida Idle').waitFor();
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'Apps' }).uncheck();
  await page.keyboard.press('Escape');
  await chooseInViews('Leavers, changed', 'Update “Leavers”');
  await page.getByRole('button', { name: 'View: Leavers', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Delete…' }).waitFor();
  await assertLooksGood(page, 'console-view-menu');
  const [view] = await app.as(ROOT).listViews.list({ list: 'people' });
  assert.equal([view?.name, view?.client, view?.is_shared], ['Leavers', 1, true]);
  assert.equal(view?.search, { is_active: false, columns: 'groups,status,last_seen' });
  await page.getByRole('menuitem', { name: 'Delete…' }).click();
  await dialog.getByRole('button', { name: 'Delete view' }).click();
  await page.getByRole('button', { name: 'View: All people' }).waitFor();
  await page.getByRole('link', { name: 'Leavers' }).waitFor({ state: 'detached' });
});

people.run();
