import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { CHURN, SALES } from '../support/usage.ts';

const apps = browserSuite('the apps of a person in the console');

let created = 0;

/** A new member of Acme; returns the address and the screen. */
const addMember = async (app: TestApp) => {
  created += 1;
  const email = `mia-${created}@acme.test`;
  const names = { first_name: 'Mia', last_name: `Member ${created}` };
  await app.as(ACME).users.create({ email, ...names, client: 1, apps: [] });
  return { email, path: `/console/people/${email}`, name: `Mia ${names.last_name}` };
};

/** A member with an app that ends soon and another through a group. */
const addTeamMember = async (app: TestApp) => {
  const member = await addMember(app);
  const expires_at = new Date(app.clock.now().getTime() + 10 * DAY_MS);
  await app
    .as(ACME)
    .grants.create({ app_id: SALES, email: member.email, expires_at, reason: 'Year-end closing' });
  const group = `Analysts ${created}`;
  await app.as(ACME).groups.create({ id: 1, name: group, members: [member.email], apps: [CHURN] });
  return { ...member, group };
};

const appsOf = (page: Page) => page.getByRole('region', { name: 'Apps' });
const rowOf = (page: Page, app: string) => appsOf(page).getByRole('listitem').filter({ hasText: app });

apps('are granted for two weeks, extended, ended, and given back', async ({ app, page }) => {
  const { email, path, name } = await addMember(app);
  const grant = async () =>
    (await app.as(ACME).access.listByUser({ email })).find((one) => one.app === SALES);
  await openConsole(page, path);
  await appsOf(page).getByRole('button', { name: 'Grant an app' }).click();
  const dialog = page.getByRole('dialog', { name: `Grant apps to ${name}` });
  await dialog.getByRole('checkbox', { name: 'Sales' }).check();
  await dialog.getByRole('combobox', { name: 'Until' }).click();
  await page.getByRole('option', { name: 'In 2 weeks' }).click();
  await dialog.getByLabel('Reason').fill('Audit of November');
  await assertLooksGood(page, 'console-grant');
  await dialog.getByRole('button', { name: 'Grant' }).click();
  await rowOf(page, 'Sales').getByText(`Granted by ${ACME}`).waitFor();
  await rowOf(page, 'Sales')
    .getByText(/^Ends \d/)
    .waitFor();
  const first = await grant();
  const days = ((first?.expires_at?.getTime() ?? 0) - app.clock.now().getTime()) / DAY_MS;
  assert.ok(days > 13.9 && days < 15.1, `ends after ${days} days`);
  assert.is(first?.reason, 'Audit of November');

  await page.getByRole('button', { name: 'Change Sales' }).click();
  await page.getByRole('menuitem', { name: 'Change the grant' }).click();
  const change = page.getByRole('dialog', { name: `Sales for ${name}` });
  await change.getByLabel('Last day').fill('2031-03-31');
  await change.getByRole('button', { name: 'Save' }).click();
  await rowOf(page, 'Sales').getByText('Ends 31 Mar 2031').waitFor();
  assert.is((await grant())?.expires_at?.getUTCFullYear(), 2031);
  await page.getByRole('tab', { name: 'History' }).click();
  await page
    .getByText(/changed the access of .* to Sales/)
    .first()
    .waitFor();
  await page.getByText(/^Ends: \d.*, 23:59 → 31 Mar 2031, 23:59$/).waitFor();
  await page.getByRole('tab', { name: 'Access' }).click();

  await page.getByRole('button', { name: 'Change Sales' }).click();
  await page.getByRole('menuitem', { name: 'End access' }).click();
  await page.getByText(`${name} no longer has Sales`).waitFor();
  await appsOf(page).getByText('Has no apps').waitFor();
  assert.is(await grant(), undefined);
  await page.getByRole('button', { name: 'Undo' }).click();
  await rowOf(page, 'Sales').getByText('Ends 31 Mar 2031').waitFor();
});

apps('say why they open, and what is in the way', async ({ app, page }) => {
  const { path, group } = await addTeamMember(app);
  await openConsole(page, path);
  const dialog = page.getByRole('dialog');
  await page.getByText('Through the group').waitFor();
  await assertLooksGood(page, 'console-person-ways');
  await page.getByRole('button', { name: 'Why? Churn' }).click();
  await dialog.getByText(/^Yes, /).waitFor();
  await dialog.getByText(`Through the group ${group}`).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  assert.is(await page.getByRole('button', { name: 'Change Churn' }).count(), 0, 'a group gives it');

  await app.as(ACME).apps.update({ app_id: SALES, in_maintenance: true, maintenance_message: '' });
  await page.getByRole('button', { name: 'Why? Sales' }).click();
  await dialog.getByText(/^No, /).waitFor();
  await dialog.getByText('The app is in maintenance.').waitFor();
  await dialog.getByText('End the maintenance.').waitFor();
  await assertLooksGood(page, 'console-explain');
  await app.as(ACME).apps.update({ app_id: SALES, in_maintenance: false });
});

apps('of groups come and go with the groups of the person', async ({ app, page }) => {
  const { group } = await addTeamMember(app);
  const member = await addMember(app);
  await openConsole(page, member.path);
  await waitForHeading(page, member.name);
  const groups = page.getByRole('region', { name: 'Groups' });
  await groups.getByText('Belongs to no group.').waitFor();
  await groups.getByLabel('Add to a group').click();
  await page.getByRole('option', { name: group }).click();
  await groups.getByRole('listitem').filter({ hasText: group }).getByText('Gives Churn').waitFor();
  await rowOf(page, 'Churn').getByText(`Through the group ${group}`).waitFor();
  await groups.getByRole('button', { name: `Remove from ${group}` }).click();
  const dialog = page.getByRole('dialog', { name: `Remove ${member.name} from ${group}?` });
  await dialog.getByText('They lose Churn, which only this group gives them.').waitFor();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await groups.getByText('Belongs to no group.').waitFor();
  await until('the app is gone', async () => {
    return (await app.as(ACME).users.get({ email: member.email })).apps.length === 0;
  });
});

apps('of groups do not end with a grant', async ({ app, page }) => {
  const { email, path, group } = await addTeamMember(app);
  const expires_at = new Date(app.clock.now().getTime() + 10 * DAY_MS);
  await app.as(ACME).grants.create({ app_id: CHURN, email, expires_at });
  const ends = (label: string) => rowOf(page, label).getByText(/^Ends \d/);
  await openConsole(page, path);
  await rowOf(page, 'Churn').getByText(`Through the group ${group}`).waitFor();
  await rowOf(page, 'Churn')
    .getByText(/Granted by .* until \d+ \w+ \d{4}/)
    .waitFor();
  await ends('Sales').waitFor();
  assert.is(await ends('Churn').count(), 0);
});

apps.run();
