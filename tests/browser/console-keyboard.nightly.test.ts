import * as assert from 'uvu/assert';
import { setApp } from '../support/access-views.ts';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole, pendingOf, waitForData } from '../support/console.ts';
import { chooseByArrows, openByPalette, pressOn, tabTo } from '../support/keyboard.ts';
import { ACME, GRACE, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const keyboard = browserSuite('the console with the keyboard alone');

const isActive = async (app: TestApp, email: string) => (await app.as(ACME).users.get({ email })).is_active;

keyboard('two people are invited with an app each', async ({ app, page }) => {
  await openConsole(page, '/console/');
  await waitForHeading(page, 'Hello Alex');
  await openByPalette(page, 'invite people');
  await waitForHeading(page, 'Invite people');
  await page.getByLabel('Email addresses').and(page.locator(':focus')).waitFor();
  await page.keyboard.type('one@keys.test two@keys.test');
  await pressOn(page, 'Edit as a list');
  for (const [person, name] of [
    ['one', 'Sales'],
    ['two', 'Churn'],
  ]) {
    await pressOn(page, new RegExp(`^Apps of ${person}@keys.test`));
    await pressOn(page, `${name}`, 'Space');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: `Apps of ${person}@keys.test: ${name}` }).waitFor();
  }
  await pressOn(page, 'Create 2 invitations');
  await waitForHeading(page, 'Invitations created');
  const invited = (await pendingOf(app, 'keys.test')).map(({ email, initial_apps }) => [
    email,
    ...initial_apps,
  ]);
  assert.equal(invited.toSorted(), [
    ['one@keys.test', SALES],
    ['two@keys.test', CHURN],
  ]);
});

keyboard(
  'ten people get an app by the bar of the selection, and lose it by an undo',
  async ({ app, page }) => {
    const emails = Array.from({ length: 10 }, (_, n) => `typist-${n}@keys.test`);
    for (const email of emails) await app.as(ACME).users.create({ email, client: 1, send_email: false });
    const having = async () =>
      (await app.as(ACME).grants.list({ app_id: CHURN })).filter(({ email }) => emails.includes(email))
        .length;
    await openConsole(page, '/console/people');
    await waitForHeading(page, 'People');
    await tabTo(page, 'Search people');
    await page.keyboard.type('typist');
    await page.getByText('10 people', { exact: true }).waitFor();
    await pressOn(page, 'Select all who match', 'Space');
    await pressOn(page, 'Grant apps');
    await page.getByRole('dialog', { name: 'Grant apps: 10 people' }).waitFor();
    await pressOn(page, 'Churn', 'Space');
    await pressOn(page, 'Grant apps');
    await page.getByText(/^Granted Churn to 10 people/).waitFor();
    assert.is(await having(), 10);
    await pressOn(page, 'Undo');
    await page.getByText(/^Undone: 10 changes\./).waitFor();
    assert.is(await having(), 0);
  },
);

keyboard('a person is suspended and reactivated', async ({ app, page }) => {
  await openConsole(page, '/console/');
  await waitForHeading(page, 'Hello Alex');
  await openByPalette(page, 'grace');
  await waitForHeading(page, 'Grace Hopper');
  const dialog = page.getByRole('dialog', { name: 'Suspend Grace Hopper?' });
  // A second time after a change of mind.
  for (const answer of ['Cancel', 'Suspend']) {
    await pressOn(page, 'Suspend…');
    await dialog.getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor();
    await pressOn(page, answer);
    await dialog.waitFor({ state: 'hidden' });
  }
  await page.getByText('Grace Hopper was suspended').waitFor();
  assert.is(await isActive(app, GRACE), false);
  await pressOn(page, 'Reactivate');
  await page.getByText('Grace Hopper was reactivated').waitFor();
  assert.ok(await isActive(app, GRACE));
});

keyboard('a share link until a date is made and copied', async ({ app, page }) => {
  await setApp(app, { launch_url: 'https://sales.example.com/' });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await openConsole(page, '/console/');
  await waitForHeading(page, 'Hello Alex');
  await openByPalette(page, 'sales');
  await waitForHeading(page, 'Sales');
  const tab = page.getByRole('tab', { name: 'Share links' });
  await tabTo(page, 'Overview');
  while ((await tab.and(page.locator(':focus')).count()) === 0) await page.keyboard.press('ArrowRight');
  await waitForData(page);
  await pressOn(page, 'New share link');
  await tabTo(page, 'Label');
  await page.keyboard.type('Board meeting');
  await pressOn(page, 'Works until');
  await chooseByArrows(page, 'option', 'Date and time');
  await tabTo(page, 'Date and time');
  await page.keyboard.type('12242026');
  await page.keyboard.press('Tab');
  await page.keyboard.type('0530PM');
  await pressOn(page, 'Create and copy');
  const link = page.getByRole('dialog', { name: 'Board meeting' });
  await link.getByText('Link created and copied.').waitFor();
  const [made] = await app.as(ACME).accessViews.list({ app: 'sales', limit: 1 });
  assert.is(await page.evaluate('navigator.clipboard.readText()'), made?.url);
  const end = await page.evaluate(`new Date(${made?.expires_at?.getTime()}).toString()`);
  assert.match(String(end), 'Dec 24 2026 17:30:00');
  await page.keyboard.press('Escape');
  await link.waitFor({ state: 'hidden' });
  await pressOn(page, 'New share link');
  await page.getByRole('dialog', { name: 'New share link' }).waitFor();
});

keyboard('unused people are found by the palette, and kept as a view', async ({ app, page }) => {
  await openConsole(page, '/console/');
  await waitForHeading(page, 'Hello Alex');
  await openByPalette(page, 'unused people');
  await waitForHeading(page, 'People');
  await page.getByRole('button', { name: 'View: Unused' }).waitFor();
  await pressOn(page, 'View: Unused');
  await chooseByArrows(page, 'menuitem', 'Save as view…');
  await tabTo(page, 'Name');
  await page.keyboard.type('To ask');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'View: To ask' }).waitFor();
  const [view] = await app.as(ACME).listViews.list({ list: 'people' });
  assert.equal([view?.name, view?.search.unseen_days], ['To ask', 90]);
});

keyboard.run();
