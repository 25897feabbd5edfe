import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { browserSuite, REFUSED, waitForHeading } from '../support/browser.ts';
import { openConsole, waitForData } from '../support/console.ts';
import {
  assertRefused,
  type Body,
  connectDirectory,
  type Directory,
  ENTERPRISE,
  GROUP,
  setMode,
  USER,
  verifyDomain,
} from '../support/directory.ts';
import { valuesOf } from '../support/rows.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, DEMO_PASSWORD, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const directories = browserSuite('directories in the console', REFUSED);

/** How many clicks each takes, from the screen of the client. */
const CLICKS = {
  /** Tab, “Connect a directory”. */
  connect: 2,
  /** Tab, “Apply”, and “Apply” again. */
  apply: 3,
  /** Tab, “Approve…”, and “Approve”. */
  approve: 3,
  /** Tab, “Only failures”. */
  findFailure: 2,
};

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const dialogOf = (page: Page) => page.getByRole('dialog');
const confirm = (page: Page, action: string) =>
  dialogOf(page).getByRole('button', { name: action, exact: true }).click();

/** Opens the tab of a client, and counts the clicks from then on. */
const openTab = async (page: Page, client: number, email = ROOT) => {
  await page.addInitScript('globalThis.clicks = 0; addEventListener("pointerdown", () => clicks++, true);');
  await openConsole(page, `/console/clients/${client}`, email);
  await page.getByRole('tab', { name: 'Directory' }).click();
  await waitForData(page);
};

const clicksOn = (page: Page) => page.evaluate<number>('clicks');

/** Sends a request as the directory of the client with this token. */
const sendBy = async (app: TestApp, token: string, path: string, payload: Body) => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' };
  const body = JSON.stringify(payload);
  const url = `/scim/v2/1${path}`;
  const response = await app.server.inject({ method: 'POST', url, headers, payload: body });
  assert.is(response.statusCode, 201, response.body);
  return response.json();
};

const nameOf = (name: string): Body => ({ givenName: name, familyName: 'Directory' });

/** People of the domain of a directory, by number. */
const addPeople = async ({ createUser, address }: Directory, count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let number = 1; number <= count; number++)
    ids.push((await createUser({ userName: address(`p${number}`), name: nameOf(`P${number}`) })).id);
  return ids;
};

const suspend = ({ patch }: Directory, id: string) =>
  patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false });

const membersOf = (app: TestApp, client: number, is_active_member = true) =>
  valuesOf(app, 'memberships', 'user_id', { client_id: client, is_active_member });

directories(
  'a client admin connects a directory, and sees what it would change, which is only shown',
  async ({ app, page }) => {
    await verifyDomain(app, 1, 'people.test');
    const members = await membersOf(app, 1);
    await openTab(page, 1, ACME);
    await page.getByText('No directory is connected').waitFor();
    await assertLooksGood(page, 'console-directory-none');
    await press(page, 'Connect a directory');
    const connection = page.getByRole('region', { name: 'Connection' });
    await connection.getByText('Copy the token now.').waitFor();
    assert.is(await clicksOn(page), CLICKS.connect);
    await connection.getByText('Tenant URL').waitFor();
    await connection.getByText('No requests from the directory yet').waitFor();
    await waitForData(page);
    await assertLooksGood(page, 'console-directory-connect');
    await page.getByText('Okta', { exact: true }).click();
    await connection.getByText('Unique identifier field for users').waitFor();
    assert.match(await connection.getByLabel('Address', { exact: true }).inputValue(), /\/scim\/v2\/1$/);
    const token = await connection.getByLabel('Token', { exact: true }).inputValue();

    const people = ['ann@people.test', 'bob@people.test', 'guest@elsewhere.test'];
    const ids: string[] = [];
    for (const userName of people) {
      const user = { schemas: [USER], userName, name: nameOf(userName.slice(0, 3)) };
      ids.push((await sendBy(app, token, '/Users', user)).id);
    }
    const group = { displayName: 'Analysts of the directory', members: ids.map((value) => ({ value })) };
    await sendBy(app, token, '/Groups', { schemas: [GROUP], ...group });

    await connection.getByText('Last request: 21 Nov 2026').waitFor();
    const changes = page.getByRole('region', { name: 'Changes are only shown' });
    await changes.getByText('Of 3 people and 1 group in the directory:').waitFor();
    await changes.getByRole('button', { name: '1 person would be invited' }).waitFor();
    await changes.getByText('has not verified the domain of their address').waitFor();
    await changes.getByRole('button', { name: '1 group would be created' }).click();
    await changes
      .getByRole('row')
      .filter({ hasText: 'Analysts of the directory' })
      .getByText('Is created')
      .waitFor();
    await changes.getByRole('button', { name: '2 people would join' }).click();
    await changes.getByRole('row').filter({ hasText: 'ann@people.test' }).getByText('Joins').waitFor();
    await press(page, 'I have entered it');
    await waitForData(page);
    await assertLooksGood(page, 'console-directory-shown');

    assert.equal(await membersOf(app, 1), members, 'nothing has changed');
    await page.reload();
    await waitForData(page);
    assert.is(await connection.getByLabel('Token', { exact: true }).count(), 0);
    await connection.getByRole('button', { name: /^Revoke Directory/ }).click();
    await confirm(page, 'Revoke');
    await connection.getByText('Without a token, the directory cannot change anything.').waitFor();
    await connection.getByRole('button', { name: 'New token' }).click();
    await connection.getByText('Copy the token now.').waitFor();
  },
);

directories(
  'the changes are applied after a question, with their progress and problems',
  async ({ app, page }) => {
    const directory = await connectDirectory(app, { mode: 'show' });
    const { client, createGroup, address } = directory;
    const [first = ''] = await addPeople(directory, 3);
    await createGroup({ displayName: 'Analysts', members: [{ value: first }] });
    await openTab(page, client);
    const counts = page.getByRole('list', { name: 'Changes' });
    await counts.getByRole('button', { name: '3 people would join' }).waitFor();
    await press(page, 'Apply');
    const dialog = dialogOf(page);
    await dialog.getByText('3 people will join').waitFor();
    await dialog.getByText('1 group will be created').waitFor();
    await confirm(page, 'Apply');
    await page.getByText('Applying, 4 left.').waitFor();
    assert.is(await clicksOn(page), CLICKS.apply);
    await page.getByRole('heading', { name: 'Changes take effect at once' }).waitFor();

    await app.directoryWorker.drain();
    await page.getByText('All is as the directory states it: 3 people and 1 group.').waitFor();
    assert.is((await membersOf(app, client)).length, 3);
    await waitForData(page);
    await assertLooksGood(page, 'console-directory-applied');

    // What an admin changes in Steward is no longer as the directory states it.
    await suspend(directory, first);
    await app.as(ROOT).memberships.update({ id: client, email: address('p1'), is_active: true });
    await counts.getByRole('button', { name: '1 person would be suspended' }).waitFor();
    await press(page, 'Apply these');
    await dialog.getByText('1 person will be suspended').waitFor();
    await assertLooksGood(page, 'console-directory-apply');
    await confirm(page, 'Apply');
    await dialog.waitFor({ state: 'detached' });
    await app.directoryWorker.drain();
    await page.getByText('All is as the directory states it').waitFor();
    assert.is((await membersOf(app, client, false)).length, 1);
  },
);

directories('what could not be applied is listed with the reason', async ({ app, page }) => {
  const { client, createGroup, patch } = await connectDirectory(app);
  const { id } = await createGroup({ displayName: 'Analysts' });
  const { id: group_id } = await app
    .as(ROOT)
    .groups.create({ id: client, name: 'Readers', members: [], apps: [] });
  await setMode(app, client, 'show');
  await patch(`/Groups/${id}`, { op: 'replace', path: 'displayName', value: 'Readers' });
  await openTab(page, client);
  await press(page, 'Apply');
  await confirm(page, 'Apply');
  await dialogOf(page).waitFor({ state: 'detached' });
  await app.directoryWorker.drain();
  await page.getByRole('button', { name: '1 could not be applied' }).click();
  const row = page.getByRole('table', { name: 'Groups' }).getByRole('row').filter({ hasText: 'Readers' });
  await row.getByText('another group of this client has this name').waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-directory-problem');

  await app.as(ROOT).groups.remove({ id: client, group_id });
  await press(page, 'Apply these');
  await confirm(page, 'Apply');
  await dialogOf(page).waitFor({ state: 'detached' });
  await app.directoryWorker.drain();
  await page.getByText('All is as the directory states it').waitFor();
  assert.equal(await valuesOf(app, 'groups', 'name', { client_id: client }), ['Readers']);
});

directories(
  'more ends than a fifth of all memberships wait for an approval of those who were seen',
  async ({ app, page }) => {
    const directory = await connectDirectory(app);
    const { client, address } = directory;
    const ids = await addPeople(directory, 13);
    const stopped = ids.slice(10);
    for (const id of ids.slice(0, 10)) assert.is((await suspend(directory, id)).status, 200);
    for (const id of stopped.slice(0, 2)) assertRefused(await suspend(directory, id), 429);

    await openTab(page, client);
    const held = page.getByRole('region', { name: /^The directory wants to end the member/ });
    await held.getByRole('heading', { name: 'of 2 people' }).waitFor();
    await held.getByText(address('p11')).waitFor();
    await waitForData(page);
    await assertLooksGood(page, 'console-directory-held');
    await press(page, 'Approve…');
    assertRefused(await suspend(directory, stopped[2] ?? ''), 429);
    await confirm(page, 'Approve');
    await held.getByText('nothing was approved').waitFor();
    await held.getByText(address('p13')).waitFor();
    assertRefused(await suspend(directory, stopped[0] ?? ''), 429);

    await page.reload();
    await page.getByRole('tab', { name: 'Directory' }).click();
    await held.getByRole('heading', { name: 'of 3 people' }).waitFor();
    await press(page, 'Approve…');
    await dialogOf(page).getByText('end the memberships of 3 people?').waitFor();
    await confirm(page, 'Approve');
    await page.getByText('Approved. The directory can remove these people').waitFor();
    assert.is(await clicksOn(page), CLICKS.approve);

    for (const id of stopped) assert.is((await suspend(directory, id)).status, 200);
    assert.equal(await membersOf(app, client), []);
    await page.getByText('Approved. The directory').waitFor({ state: 'detached' });
  },
);

directories('the requests of the directory are listed, and failures found', async ({ app, page }) => {
  const directory = await connectDirectory(app, { mode: 'show' });
  await addPeople(directory, 2);
  await directory.request('GET', '/Users?filter=userName eq "p1@directory.test"');
  assertRefused(await directory.request('GET', '/Users/unknown'), 404);
  assertRefused(await directory.request('POST', '/Users', { schemas: [USER] }), 400);
  await openTab(page, directory.client);
  const rows = page.getByRole('table', { name: 'Requests from the directory' }).getByRole('row');
  await rows.filter({ hasText: 'POST' }).filter({ hasText: '201' }).first().waitFor();
  assert.is(await rows.count(), 6, 'a heading and five requests');
  await page.getByRole('switch', { name: 'Only failures' }).check();
  await rows.filter({ hasText: '201' }).first().waitFor({ state: 'detached' });
  await rows.filter({ hasText: '400' }).getByText('userName is required.').waitFor();
  assert.is(await clicksOn(page), CLICKS.findFailure);
  await rows.filter({ hasText: '/Users/unknown' }).getByText('404').waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-directory-requests');
});

directories(
  'attributes of the directory become data of people, after the password',
  async ({ app, browser, page }) => {
    const { client, createUser, address } = await connectDirectory(app);
    await createUser({ userName: address('ann'), title: 'Analyst', [ENTERPRISE]: { department: 'Sales' } });
    await openTab(page, client);
    const form = page.getByRole('form', { name: 'Data of people' });
    const save = form.getByRole('button', { name: 'Save data' });
    await form.getByRole('button', { name: 'Add data' }).click();
    await form.getByLabel('Name 1').fill('unit');
    await form.getByLabel('Attribute of the directory 1').fill('departement');
    await form.getByRole('button', { name: 'Add data' }).click();
    await form.getByLabel('Name 2').fill('unit');
    await form.getByLabel('Attribute of the directory 2').click();
    await page.getByRole('option', { name: 'title' }).click();
    await save.click();
    await form.getByText('Another row has this name.').first().waitFor();
    await form.getByLabel('Name 2').fill('job');
    await save.click();
    await form.getByText('Users have no attribute departement.').waitFor();
    await waitForData(page);
    await assertLooksGood(page, 'console-directory-data');
    await form.getByLabel('Attribute of the directory 1').fill('department');
    // An empty row is no data.
    await form.getByRole('button', { name: 'Add data' }).click();
    await browser.advance(16 * MINUTE_MS);
    await save.click();
    await page.getByLabel('Password', { exact: true }).fill(DEMO_PASSWORD);
    await press(page, 'Confirm');
    await form.getByText('Saved.').waitFor();
    await app.directoryWorker.drain();

    const { attributes } = await app.as(ROOT).directory.get({ id: client });
    assert.equal(attributes, { unit: 'department', job: 'title' });
    assert.equal(await valuesOf(app, 'memberships', 'extra', { client_id: client }), [
      { unit: 'Sales', job: 'Analyst' },
    ]);
    await form.getByRole('button', { name: 'Remove data 1' }).click();
    await save.click();
    await form.getByText('Saved.').waitFor();
    assert.equal((await app.as(ROOT).directory.get({ id: client })).attributes, { job: 'title' });
  },
);

directories('who may not configure the client does not see its directory', async ({ page }) => {
  await openConsole(page, '/console/clients/1?tab=directory', STAFF);
  await waitForHeading(page, 'Acme Analytics');
  await page.getByRole('tab', { name: 'Sign-in' }).waitFor();

  assert.is(await page.getByRole('tab', { name: 'Directory' }).count(), 0);
});

directories.run();
