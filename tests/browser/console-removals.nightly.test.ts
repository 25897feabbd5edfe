import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole, showing } from '../support/console.ts';
import { rejectsWith } from '../support/rejects.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ADA, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const access = browserSuite('removals, previews and ending access in the console');

const inDays = (app: TestApp, days: number): Date => new Date(app.clock.now().getTime() + days * DAY_MS);

const endsSoon = (app: TestApp, email: string, expires_at = inDays(app, 3)) =>
  app.as(ACME).grants.update({ app_id: SALES, email, expires_at, reason: 'Audit' });

/** As forms set “In 2 weeks”. */
const inTwoWeeks = (now: Date): Date =>
  new Date(now.getFullYear(), now.getMonth(), now.getDate() + 14, 23, 59);

testAppearance(access, {
  'console-home-ending': async (page, app) => {
    for (const email of [ADA, GRACE]) await endsSoon(app, email);
    await showing('/console/', 'Hello Alex')(page, app);
    await page.getByRole('region', { name: 'Access that ends soon' }).waitFor();
  },
  'console-home-preview': async (page, app) => {
    await showing(`/console/people/${ADA}`, 'Ada Lovelace')(page, app);
    await page.getByRole('button', { name: 'See as Ada' }).click();
    await page.getByRole('dialog').getByText('Sales', { exact: true }).waitFor();
  },
  'console-remove-client': async (page, app) => {
    await app.as(ROOT).clients.updateGate({ id: 2, is_open: false });
    await showing('/console/clients/2?tab=close', 'Globex Data', ROOT)(page, app);
    await page.getByRole('button', { name: 'Remove Globex Data' }).click();
    await page.getByRole('dialog').getByText('The removal includes:').waitFor();
    await app.as(ROOT).clients.updateGate({ id: 2, is_open: true });
  },
});

access('that ends soon is extended from home, for all with one click', async ({ app, page }) => {
  await endsSoon(app, ADA);
  await endsSoon(app, GRACE, inTwoWeeks(app.clock.now()));
  await openConsole(page, '/console/');
  await page.getByRole('button', { name: /^Extend to \d+ \w+: Sales of Ada Lovelace$/ }).waitFor();
  await page.getByRole('button', { name: /^Extend all 2 to \d+ \w+$/ }).click();
  await page.getByText(/^2 now end on \d+ \w+ 20\d\d\.$/).waitFor();
  await page.getByRole('region', { name: 'Access that ends soon' }).waitFor({ state: 'detached' });

  for (const email of [ADA, GRACE]) {
    const [grant] = (await app.as(ACME).access.listByUser({ email })).filter(({ app: id }) => id === SALES);
    assert.ok(grant?.expires_at && grant.expires_at > inDays(app, 29));
  }
});

access('as a person sees it is shown to admins, and recorded', async ({ app, page }) => {
  await openConsole(page, `/console/people/${ADA}`);
  await page.getByRole('button', { name: 'See as Ada' }).click();
  const dialog = page.getByRole('dialog');
  for (const { label } of await app.as(ADA).apps.list({}))
    await dialog.getByText(label, { exact: true }).waitFor();

  const [look] = await app.as(ACME).audit.list({ action: 'user.preview', target: ADA });
  assert.is(look?.actor, ACME);
});

access('to an app goes with the app, after its name was typed', async ({ app, page }) => {
  const { label } = await app.as(ROOT).apps.get({ app_id: CHURN });
  await app.as(ROOT).apps.update({ app_id: CHURN, in_maintenance: true });
  // The list is read before, and shown again after.
  await openConsole(page, '/console/apps', ROOT);
  const link = page.getByRole('link', { name: label, exact: true });
  await link.click();
  await page.getByRole('tab', { name: 'Settings' }).click();
  await page.getByRole('button', { name: `Remove ${label}` }).click();
  const dialog = page.getByRole('dialog');
  const remove = dialog.getByRole('button', { name: 'Remove the app' });
  await dialog.getByText('The removal includes:').waitFor();
  assert.ok(await remove.isDisabled());
  await dialog.locator('input:focus').waitFor();
  await page.keyboard.type(label);
  await remove.click();
  await waitForHeading(page, 'Apps');
  await page.getByRole('link', { name: 'Sales', exact: true }).waitFor();
  assert.is(await link.count(), 0);

  await rejectsWith(app.as(ROOT).apps.get({ app_id: CHURN }), 'not-found');
});

access('of invited people comes from groups and ends', async ({ app, page }) => {
  const { id: group } = await app.as(ACME).groups.create({ id: 1, name: 'Auditors', apps: [SALES] });
  await openConsole(page, '/console/invite');
  await page.getByRole('button', { name: 'More options' }).click();
  await page.getByRole('combobox', { name: 'Groups' }).click();
  await page.getByRole('option', { name: 'Auditors' }).click();
  await page.keyboard.press('Escape');
  await page.getByRole('combobox', { name: 'Apps until' }).click();
  await page.getByRole('option', { name: 'In 2 weeks' }).click();
  await page.getByLabel(/^(Email )?[Aa]ddresses/).fill('auditor@new.test');
  await page.getByRole('button', { name: 'Create 1 invitation' }).click();
  await waitForHeading(page, 'Invitations created');

  const { rows } = await sql<{ id: number }>`
    select id from invitations where email = 'auditor@new.test'`.execute(app.db());
  const { groups, apps_expire_at } = await app.as(ACME).invitations.get({ id: rows[0]?.id ?? 0 });
  assert.equal(groups, [group]);
  assert.ok(apps_expire_at && apps_expire_at > inDays(app, 13));
});

access.run();
