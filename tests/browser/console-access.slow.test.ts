import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ADA, GRACE, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { CHURN, SALES } from '../support/usage.ts';
import { addUsers } from '../support/users.ts';

const access = browserSuite('access matrix in the console');

const openMatrix = async (page: Page): Promise<void> => {
  await openConsole(page, '/console/access');
  await waitForHeading(page, 'Access');
  await page.getByRole('checkbox', { name: `Churn for ${GRACE}` }).waitFor();
};
const grantsOf = async (app: TestApp) => {
  const { apps, users } = await app.as(ACME).access.matrix({ id: 1 });
  const label = new Map(apps.map((one) => [one.id, one.label]));
  return users.flatMap(({ email, apps: ids }) => ids.map((id) => `${label.get(id)} for ${email}`)).toSorted();
};

/** The last person in the matrix, with an app that ends and another by a group. */
const ZOE = 'zoe@acme.test';

const addZoe = async (app: TestApp): Promise<void> => {
  await app.as(ACME).users.create({ email: ZOE, first_name: 'Zoe', last_name: 'Zett', client: 1 });
  const expires_at = new Date('2031-03-31T12:00:00Z');
  await app.as(ACME).grants.create({ app_id: SALES, email: ZOE, expires_at });
  await app.as(ACME).groups.create({ id: 1, name: 'Forecast', members: [ZOE], apps: [CHURN] });
};

testAppearance(access, {
  'console-access': openMatrix,
  'console-access-groups': async (page, app) => {
    await addZoe(app);
    await openMatrix(page);
    await page.getByRole('img', { name: 'Member of Forecast' }).waitFor();
    await page.getByRole('checkbox', { name: `Sales for ${ZOE}` }).focus();
  },
});

access('a cell shows its end and says why, and what a group gives stays', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openMatrix(page);
  const row = page.getByRole('row').filter({ hasText: 'Zoe Zett' });
  await row.getByText('to 31 Mar 2031').waitFor();
  const churn = page.getByRole('checkbox', { name: `Churn for ${ZOE}` });
  await churn.click();
  await page.getByRole('checkbox', { name: `All apps for ${ZOE}` }).click();
  await page.getByText(/^1 change:/).waitFor();
  assert.ok(await churn.isChecked());
  await page.getByRole('button', { name: 'Discard' }).click();

  const dialog = page.getByRole('dialog');
  await churn.focus();
  await page.keyboard.press('?');
  await dialog.getByText('Through the group Forecast').waitFor();
  await page.keyboard.press('Escape');
  await row.hover();
  await page.getByRole('checkbox', { name: `Sales for ${ZOE}` }).hover();
  await page.getByRole('button', { name: `Why? Sales for ${ZOE}` }).click();
  await dialog.getByText('Granted directly').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Groups: 1 of 1' }).click();
  await page.getByRole('checkbox', { name: 'Forecast' }).uncheck();
  await page.getByRole('img', { name: 'Member of Forecast' }).waitFor({ state: 'detached' });
  assert.equal((await app.as(ACME).users.get({ email: ZOE })).apps, [SALES, CHURN]);
});

access('one save changes several cells, and undo restores them', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  const before = await grantsOf(app);
  await openMatrix(page);
  await page.getByRole('checkbox', { name: `Churn for ${GRACE}` }).click();
  await page.getByRole('checkbox', { name: `Sales for ${ADA}` }).click();
  await page.getByText('2 changes: 1 granted, 1 revoked').waitFor();
  assert.is(await page.getByRole('checkbox', { name: 'not saved' }).count(), 2);
  assert.equal(await grantsOf(app), before, 'nothing is saved yet');
  await page.getByRole('button', { name: 'Show only changes' }).click();
  const rows = page.getByRole('row').filter({ has: page.getByRole('checkbox', { name: /^Churn for .*@/ }) });
  await until('only the changed people are shown', async () => (await rows.count()) === 2);
  await page.getByRole('button', { name: 'Show everything' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved 2.').waitFor();
  const changed = await grantsOf(app);
  assert.ok(changed.includes(`Churn for ${GRACE}`));
  assert.not.ok(changed.includes(`Sales for ${ADA}`));

  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Saved 2.').waitFor({ state: 'detached' });
  assert.equal(await grantsOf(app), before);
  assert.ok(await page.getByRole('checkbox', { name: `Sales for ${ADA}` }).isChecked());
});

access('a change that is made while others are being saved is kept', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openMatrix(page);
  const release = Promise.withResolvers<void>();
  await page.route('**/trpc/access.update*', async (route) => {
    await release.promise;
    await route.continue();
  });
  await page.getByRole('checkbox', { name: `Churn for ${GRACE}` }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('checkbox', { name: `Sales for ${ADA}` }).click();
  release.resolve();

  await page.getByText('1 change: 1 revoked').waitFor();
  const granted = await grantsOf(app);
  assert.ok(granted.includes(`Churn for ${GRACE}`) && granted.includes(`Sales for ${ADA}`));
  await page.unroute('**/trpc/access.update*');
  await page.getByRole('checkbox', { name: `Churn for ${GRACE}` }).click();
  await page.getByRole('checkbox', { name: `Sales for ${ADA}` }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved 1.').waitFor();
});

access('an app that is not chosen has no column', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openMatrix(page);
  await page.getByRole('button', { name: /^Apps: (\d) of \1$/ }).click();
  await page.getByRole('checkbox', { name: 'Churn', exact: true }).uncheck();
  await page.getByRole('checkbox', { name: 'Churn for all people' }).waitFor({ state: 'detached' });
  assert.ok(await page.getByRole('checkbox', { name: 'Sales for all people' }).isVisible());
});

access('marks people who are deactivated', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openMatrix(page);
  const rowOf = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name }) });

  assert.is(await rowOf('Ida Idle').getByText('Inactive').count(), 1);
  assert.is(await rowOf('Ada Lovelace').getByText('Inactive').count(), 0);
});

access('a heading grants an app to all people, and Discard takes it back', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openMatrix(page);
  const cells = page.getByRole('checkbox', { name: /^Churn for .*@/, disabled: false });
  await page.getByRole('checkbox', { name: 'Churn for all people' }).click();
  await page.getByText(/^\d changes: \d granted$/).waitFor();
  for (const cell of await cells.all()) assert.ok(await cell.isChecked());

  await page.getByRole('button', { name: 'Discard' }).click();
  assert.not.ok(await page.getByRole('checkbox', { name: `Churn for ${GRACE}` }).isChecked());
});

access('a heading sets people who were not loaded yet, too', async ({ app, browser }) => {
  await addUsers(app, 1_100);
  await app.db().deleteFrom('app_grants').where('app_id', '=', CHURN).execute();
  await using visit = await browser.open();
  const { page } = visit;
  await openMatrix(page);
  await page.getByRole('checkbox', { name: 'Churn for all people' }).click();
  await page.getByText(/^1,10\d changes: 1,10\d granted$/).waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/^Saved 1,10\d\.$/).waitFor();

  const granted = await app
    .db()
    .selectFrom('app_grants')
    .where('app_id', '=', CHURN)
    .select('user_id')
    .execute();
  assert.ok(granted.length > 1_100);
  await app.db().deleteFrom('users').where('email', 'like', '%@many.test').execute();
});

access('arrow keys and the space bar change cells without a mouse', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openMatrix(page);
  const end = page.locator('[data-cell="2 1"]');
  const was = await end.isChecked();
  await page.locator('[data-cell="1 0"]').focus();
  await page.keyboard.press('ArrowUp'); // the row of the admin, which stays locked
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Space');

  await page.getByText(/^1 change:/).waitFor();
  assert.is(await end.isChecked(), !was);
});

access('a click with Shift sets the people in between like the first one', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openMatrix(page);
  const cells = [1, 2, 3].map((row) => page.locator(`[data-cell="${row} 1"]`));
  const granted = !(await cells[0]?.isChecked());
  await cells[0]?.click();
  await cells[2]?.click({ modifiers: ['Shift'] });

  assert.equal(await Promise.all(cells.map((cell) => cell.isChecked())), [granted, granted, granted]);
});

access('Shift and the space bar set a range over several apps', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openMatrix(page);
  const boxes = ['1 0', '1 1', '2 0', '2 1'].map((cell) => page.locator(`[data-cell="${cell}"]`));
  const granted = !(await boxes[0]?.isChecked());
  await boxes[0]?.focus();
  await page.keyboard.press('Space');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Shift+Space');

  assert.equal(
    await Promise.all(boxes.map((box) => box.isChecked())),
    boxes.map(() => granted),
  );
});

access('an admin of the client has all of its apps on each screen', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  const note = 'Has all apps of the client as its admin';
  await openConsole(page, '/console/access', ACME);
  const box = page.getByRole('checkbox', { name: `All apps for ${ACME}` });
  await box.waitFor();
  assert.ok(await box.isChecked());
  assert.ok(await page.getByRole('row').filter({ hasText: 'Admin' }).getByTitle(note).first().isVisible());
  await page.goto(`/console/people?search=${ACME}`);
  await page.getByRole('row').filter({ hasText: ACME }).getByText('All apps').waitFor();
  await page.goto(`/console/people/${ACME}`);
  await page.getByText('Has all apps of Acme Analytics as its admin.').waitFor();
  await page.getByRole('region', { name: 'Apps' }).getByText('As an admin of the client').first().waitFor();
  assert.is(await page.getByRole('button', { name: 'Grant an app' }).count(), 0);
  await page.goto('/console/');
  const tiles = page.locator('a[href^="/launch/"]');
  await tiles.first().waitFor();
  assert.is(await tiles.count(), (await app.as(ACME).apps.list({})).length);
});

access('the names stay in view while a phone scrolls to the apps', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await page.setViewportSize({ width: 390, height: 844 });
  await openConsole(page, '/console/access', ACME);
  const name = page.getByRole('table', { name: 'Access' }).getByRole('link', { name: 'Grace Hopper' });
  await name.waitFor();
  const before = await name.boundingBox();
  await page.evaluate('document.querySelector("section[aria-label^=Access]").scrollTo({ left: 300 })');
  await page.waitForTimeout(100);

  const after = await name.boundingBox();
  assert.ok(before && after && before.x - after.x < 30);
});

access.run();
