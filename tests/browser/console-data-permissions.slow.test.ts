import { sql } from 'kysely';
import type { Locator, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { claimsIn, setApp, ticketOf } from '../support/access-views.ts';
import { browserSuite, REFUSED, waitForHeading } from '../support/browser.ts';
import { openConsole, waitForData } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, GRACE, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const data = browserSuite('data permissions in the console', REFUSED);

const SCHEMA = {
  properties: {
    region: {
      type: 'array',
      title: 'Regions',
      description: 'The regions whose rows the person sees.',
      items: { type: 'string', enum: ['North', 'South', 'West'] },
      default: ['North', 'South', 'West'],
    },
    since: { type: 'string', format: 'date', title: 'Since' },
    limit: { type: 'integer', title: 'Limit' },
    teams: { type: 'array', items: { type: 'string' }, title: 'Teams' },
    drafts: { type: 'boolean', title: 'Drafts' },
  },
};
const ROLES = [
  { key: 'analyst', label: 'Analyst', description: 'May download the rows.' },
  { key: 'planner', label: 'Planner', description: 'May enter targets.' },
];

const declare = async (app: TestApp): Promise<void> => {
  await setApp(app, { launch_url: 'http://localhost:8000/avatars/S.svg' });
  await app.as(ACME).dataPermissions.setSchema({ id: 1, schema: SCHEMA, mode: 'enforce' });
  await sql`update apps set app_roles = ${JSON.stringify(ROLES)}::json where id = ${SALES}`.execute(app.db());
};

const give = (app: TestApp, email: string, extra: Record<string, unknown>) =>
  app.as(ACME).memberships.update({ id: 1, email, extra });

const given = async (app: TestApp, email: string) => claimsIn(await ticketOf(app, email)).data_permissions;

const choose = async (page: Page, field: Locator, option: string): Promise<void> => {
  await field.click();
  await page.getByRole('option', { name: option }).click();
  await field.press('Tab');
};

data(
  'a mistyped key closes an app, and is corrected where “Why?” explains it, in four clicks',
  async ({ app, page }) => {
    await declare(app);
    await give(app, ADA, { regoin: ['North'] });
    await openConsole(page, '/launch/sales/', ADA);
    await waitForHeading(page, 'This app is not set up for you');

    await openConsole(page, `/console/people/${ADA}`, ACME);
    const dialog = page.getByRole('dialog');
    const button = (name: string) => dialog.getByRole('button', { name, exact: true });
    await page.getByRole('button', { name: 'Why? Sales' }).click();
    await dialog.getByText('regoin is not an attribute of this client or its apps').waitFor();
    await waitForData(page);
    await assertLooksGood(page, 'console-why-data');
    await button('Correct the data permissions').click();
    await button('Remove regoin').waitFor();
    await assertLooksGood(page, 'console-correct-data');
    await button('Use it as Regions').click();
    await button('Save').click();
    await dialog.getByText('Yes, Ada Lovelace can open Sales.').waitFor();
    await dialog.getByText('From the data of the person').waitFor();
    assert.equal(await given(app, ADA), { region: ['North'] });
    await openConsole(page, '/launch/sales/', ADA);
    await page.waitForURL(/\/avatars\/S\.svg\?code=/);
  },
);

data('a value has a field of its type, and one that is emptied is no longer set', async ({ app, page }) => {
  await declare(app);
  const values = { region: ['North'], since: '2026-01-31', limit: 5, teams: ['a'], drafts: true };
  await give(app, GRACE, values);
  await openConsole(page, `/console/people/${GRACE}`, ACME);
  await page.getByRole('button', { name: 'Data permissions in Acme Analytics' }).click();
  const dialog = page.getByRole('dialog');
  await choose(page, dialog.getByRole('combobox', { name: 'Regions' }), 'South');
  await dialog.getByLabel('Since').fill('2026-02-28');
  await dialog.getByLabel('Limit').fill('');
  await dialog.getByLabel('Teams').fill('b');
  await dialog.getByLabel('Teams').press('Enter');
  await choose(page, dialog.getByRole('combobox', { name: 'Drafts' }), 'Not set');
  await assertLooksGood(page, 'console-person-data');
  await dialog.getByRole('switch', { name: 'As JSON' }).click();
  assert.match(await dialog.getByRole('textbox').inputValue(), '"South"');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved the data permissions of Grace Hopper.').waitFor();
  const changed = { region: ['North', 'South'], since: '2026-02-28', teams: ['a', 'b'] };
  assert.equal((await app.as(ACME).memberships.list({ email: GRACE }))[0]?.extra, changed);
  await page.getByRole('button', { name: 'Data that Sales gets' }).click();
  await dialog.getByText('instead of North, South, West from the default of the client').waitFor();
  await assertLooksGood(page, 'console-what-app-gets');
});

data('a grant and a group give roles and data permissions in an app', async ({ app, page }) => {
  await declare(app);
  await give(app, GRACE, {});
  const group = { name: 'Northerners', members: [GRACE], apps: [SALES, CHURN] };
  const { id } = await app.as(ACME).groups.create({ id: 1, ...group });
  await openConsole(page, `/console/groups/1/${id}`, ACME);
  const form = page.getByRole('form', { name: 'What members get in apps' });
  await choose(page, form.getByRole('combobox', { name: 'Regions' }), 'North');
  await form.getByText('Planner').click();
  await form.getByLabel('Rank').fill('3');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('Saved.').waitFor();
  await assertLooksGood(page, 'console-group-data');
  assert.equal(await given(app, GRACE), { region: ['North'] });

  await openConsole(page, `/console/people/${GRACE}`, ACME);
  await page.getByRole('button', { name: 'Change Sales' }).click();
  await page.getByRole('menuitem', { name: 'Change the grant' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Analyst').click();
  await dialog.getByRole('button', { name: 'Data permissions in Sales' }).click();
  await choose(page, dialog.getByRole('combobox', { name: 'Regions' }), 'West');
  await assertLooksGood(page, 'console-grant-data');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await given(app, GRACE), { region: ['West'] });
  await page.getByRole('button', { name: 'Why? Sales' }).click();
  await dialog.getByText('Roles in Sales: Analyst, Planner').waitFor();
  await dialog.getByText('instead of North from the group Northerners').waitFor();
});

data(
  'a client sees whom its attributes touch before it saves them, and who sees what',
  async ({ app, page }) => {
    await declare(app);
    await give(app, ADA, { region: ['South'] });
    await openConsole(page, '/console/clients/1?tab=data', ACME);
    const schema = page.getByLabel('Attributes that several apps share');
    await schema.fill('{"properties": {"region": {"type": "arry"}}}');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByText('properties.region.type').waitFor();
    const { region } = SCHEMA.properties;
    const narrower = { ...region, items: { enum: ['North', 'West'] }, default: ['North'] };
    await schema.fill(JSON.stringify({ properties: { region: narrower } }));
    await page.getByRole('button', { name: 'Preview' }).click();
    const person = page.getByRole('listitem').filter({ hasText: ADA }).filter({ hasText: 'Sales' });
    await person.getByText('Loses access').waitFor();
    await assertLooksGood(page, 'console-client-data');
    assert.equal(await given(app, ADA), { region: ['South'] });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved the data permissions of the client.').waitFor();

    await openConsole(page, `/console/apps/${SALES}?tab=data`, ACME);
    const row = page.getByRole('row', { name: 'Ada Lovelace' });
    await row.getByText('Closed').waitFor();
    await row.getByText('region must be one of North, West').waitFor();
    await assertLooksGood(page, 'console-who-sees-what');
  },
);

data.run();
