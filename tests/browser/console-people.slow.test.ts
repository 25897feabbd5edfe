import { readFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { chooseClient, chooseFilter, chooseFromMenu, openConsole, showing } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { enroll } from '../support/second-factors.ts';
import { ACME, ADA, ROOT, type TestApp } from '../support/test-app.ts';
import { eventually } from '../support/time.ts';
import { CHURN } from '../support/usage.ts';

const people = browserSuite('people in the console');

testAppearance(people, {
  'console-home': showing('/console/', 'Hello Alex'),
  'console-people': showing('/console/people', 'People'),
  'console-person': showing('/console/people/ada@acme.test', 'Ada Lovelace'),
});

people('Ctrl K, three letters and Enter open a person, without a pause', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/');
  await waitForHeading(page, 'Hello Alex');
  await page.keyboard.press('Control+K');
  await page.keyboard.type('gra');
  await page.keyboard.press('Enter');

  await waitForHeading(page, 'Grace Hopper');
});

people(
  'Ctrl K finds apps, clients and actions too, and people in the order of their addresses',
  async ({ browser }) => {
    await using visit = await browser.open();
    const { page } = visit;
    await openConsole(page, '/console/');
    await waitForHeading(page, 'Hello Alex');
    const search = async (text: string): Promise<void> => {
      await page.keyboard.press('Control+K');
      await page.keyboard.type(text);
    };
    await search('ad');
    await page.keyboard.press('Enter');
    await waitForHeading(page, 'Ada Lovelace');
    await search('churn');
    await page.keyboard.press('Enter');
    await waitForHeading(page, 'Churn');
    await search('acme');
    await page.getByRole('dialog').getByText('Acme Analytics').click();
    await waitForHeading(page, 'Acme Analytics');
    await search('dark');
    await page.keyboard.press('Enter');

    await page.locator('html[data-mantine-color-scheme=dark]').waitFor();
    await search('colors');
    await page.getByRole('option', { name: 'Use light colors' }).waitFor();
    assert.is(await page.getByRole('option', { name: 'Use dark colors' }).count(), 0);
  },
);

people('the search announces the result that the arrow keys choose', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/people');
  await waitForHeading(page, 'People');
  await page.keyboard.press('Control+K');
  await page.keyboard.type('acme');
  const chosen = page.getByRole('option', { selected: true });
  await chosen.filter({ hasText: 'Ada Lovelace' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await chosen.filter({ hasText: 'Alex Acme' }).waitFor();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  const last = page.getByRole('option').last();
  const field = page.getByRole('combobox', { name: 'Find people' });

  await eventually(async () => assert.is(await last.getAttribute('aria-selected'), 'true'));
  assert.is(await field.getAttribute('aria-activedescendant'), await last.getAttribute('id'));
});

people(
  'Ctrl K finds invitees, also from a field, and says what to do if nothing matches',
  async (context) => {
    const { app, browser } = context;
    await app.as(ACME).clients.invite({ id: 1, email: 'guest@new.test' });
    await using visit = await browser.open();
    const { page } = visit;
    await openConsole(page, '/console/people');
    await page.getByRole('searchbox', { name: 'Search people' }).click();
    await page.keyboard.press('Control+K');
    const field = page.getByRole('combobox', { name: 'Find people' });
    await field.fill('nowhere');
    await page.getByText('Nothing matches “nowhere”.').waitFor();
    await page.getByRole('dialog').getByRole('link', { name: 'Invite people' }).waitFor();
    await field.fill('guest');
    await page.getByRole('option', { name: 'guest@new.test' }).click();

    await page.waitForURL('**/console/invitations?search=guest*');
    await page.getByRole('rowheader', { name: 'guest@new.test', exact: true }).waitFor();
  },
);

people('a search for someone who is only invited leads to the invitation', async ({ app, browser }) => {
  await app.as(ACME).clients.invite({ id: 1, email: 'newcomer@new.test' });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/people?search=newcomer');
  await page.getByText('No one matches').waitFor();
  await page.getByRole('link', { name: 'Pending invitations match “newcomer”' }).click();

  await page.getByRole('rowheader', { name: 'newcomer@new.test', exact: true }).waitFor();
});

people('the filter is part of the address', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/people');
  await page.getByRole('searchbox', { name: 'Search people' }).fill('lovelace');
  await page.waitForURL('**/console/people?search=lovelace');
  await page.getByRole('link', { name: 'Grace Hopper' }).waitFor({ state: 'detached' });
  await page.reload();

  await page.getByRole('link', { name: 'Ada Lovelace' }).waitFor();
  assert.is(await page.getByRole('row').count(), 2);
});

people('the home screen leads to the app in maintenance', async ({ app, browser }) => {
  await app.send(`PATCH /jb/apps/${CHURN}/`, { as: ACME, payload: { in_maintenance: true } });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/');
  const topic = page.getByRole('listitem').filter({ hasText: '1 app in maintenance' });
  await topic.getByRole('link', { name: 'Churn' }).click();

  await waitForHeading(page, 'Churn');
});

people('the list is sorted by a click on a heading, and filtered by the last login', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
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
});

people('the list is filtered by the second factor', async ({ app, browser }) => {
  await enroll(app, ADA);
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/people');
  const names = page.getByRole('table', { name: 'People' }).getByRole('link');
  await chooseFilter(page, 'Second factor', 'With one');

  await eventually(async () => assert.equal(await names.allInnerTexts(), ['Ada Lovelace']));
  await page.waitForURL('**/console/people?second_factor=true');
  await app.db().deleteFrom('mfa_factors').execute();
});

people('the chosen columns are kept in the browser', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/people');
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'Handle' }).check();
  await page.getByRole('checkbox', { name: 'Groups' }).uncheck();
  await page.reload();

  await page.getByRole('columnheader', { name: 'Handle' }).waitFor();
  assert.is(await page.getByRole('columnheader', { name: 'Groups' }).count(), 0);
});

const nameOf = async (app: TestApp): Promise<string> =>
  (await app.send('GET /jb/users/grace@acme.test/', { as: ACME })).json().first_name;

people('an admin renames a person, and the history says so', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/people/grace@acme.test?tab=profile');
  await page.getByLabel('First name').fill('Amazing Grace');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').waitFor();
  await page.getByRole('tab', { name: 'History' }).click();
  await page.getByText('“Grace” → “Amazing Grace”').waitFor();

  await waitForHeading(page, 'Amazing Grace Hopper');
  assert.is(await nameOf(app), 'Amazing Grace');
});

people('the CSV file has the people, the order and the columns of the list', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/people?role=member&sort=-email');
  await page.getByText('Ada Lovelace').waitFor();
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'Apps' }).uncheck();
  await page.getByRole('checkbox', { name: 'Last login' }).check();
  await page.keyboard.press('Escape');
  const [download] = await Promise.all([page.waitForEvent('download'), chooseFromMenu(page, 'Download CSV')]);
  const [heading, ...lines] = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
  const shown = await page.getByRole('row').getByText('@acme.test').allTextContents();

  assert.is(heading, 'first_name,last_name,email,is_active,last_login');
  assert.equal(
    lines.map((line) => line.split(',')[2]),
    shown,
  );
  assert.ok(shown.length > 1);
});

people('selecting a person moves no row', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/people');
  const box = page.getByRole('checkbox', { name: 'Select grace@acme.test' });
  const before = await box.boundingBox();
  await box.check();
  await page.getByText('1 selected', { exact: true }).waitFor();

  assert.equal(await box.boundingBox(), before);
});

people('the header fits a phone', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await page.setViewportSize({ width: 390, height: 844 });
  await openConsole(page, '/console/people');
  const account = page.getByRole('button', { name: /^Account of/ });
  for (const button of [account, page.getByRole('button', { name: 'Search' })]) {
    const box = await button.boundingBox();
    assert.ok(box && box.x + box.width <= 390);
  }
});

people('dates have one style, with the exact time and zone as their title', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/people');
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'Joined' }).check();
  const date = page.getByRole('row').filter({ hasText: 'Alex Acme' }).locator('time').last();

  assert.match(await date.innerText(), /^\d{1,2} \w{3,4} \d{4}, \d\d:\d\d$/);
  assert.match(String(await date.getAttribute('title')), /^\d{1,2} \w{3,4} \d{4}, \d\d:\d\d:\d\d \S+$/);
  const { date_joined } = await app.as(ACME).users.get({ email: ACME });
  assert.is(await date.getAttribute('datetime'), date_joined.toISOString());
});

people('the client that is chosen holds for all lists, until all are chosen', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
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
  await openConsole(page, '/console/people');
  await page.getByRole('link', { name: 'Ada Lovelace' }).waitFor();
  assert.is(await page.getByRole('button', { name: /^Client: / }).count(), 0, 'nothing to choose for others');
});

people('rows name apps and groups, and who opens all apps', async ({ app, browser }) => {
  await app.as(ACME).groups.create({ id: 1, name: 'Analysts', members: [ADA], apps: [] });
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/people', ROOT);
  const rowOf = (name: string) => page.getByRole('row').filter({ hasText: name });
  await rowOf('Robin Root').getByText('All apps').waitFor();
  await rowOf('Ada Lovelace').getByRole('cell', { name: 'Sales Churn' }).waitFor();
  await rowOf('Ada Lovelace').getByText('Analysts').waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole('checkbox', { name: 'Select all who match' }).waitFor();

  await page.getByRole('columnheader', { name: 'Groups' }).waitFor({ state: 'detached' });
  await rowOf('Ada Lovelace').getByText('ada@acme.test').waitFor();
});

people.run();
