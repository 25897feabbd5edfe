import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole, showing } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ADA, DEMO_PASSWORD, GRACE, ROOT } from '../support/test-app.ts';

const person = browserSuite('a person in the console');

const openPerson = async (page: Page, as: string, email: string, name: string): Promise<void> => {
  await openConsole(page, `/console/people/${email}`, as);
  await waitForHeading(page, name);
};

testAppearance(person, {
  'console-person-as-superuser': showing(`/console/people/${ADA}`, 'Ada Lovelace', ROOT),
});

person('a superuser grants the role staff', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ROOT, GRACE, 'Grace Hopper');
  await page.getByRole('switch', { name: 'Staff' }).click();
  await page.getByText('Saved.').waitFor();

  assert.equal(await app.as(ROOT).roles.get({ email: GRACE }), { is_staff: true, is_superuser: false });
});

person('an admin ends all logins of a person, after a question', async ({ app, browser }) => {
  const payload = { username: ADA, password: DEMO_PASSWORD };
  const { token } = (await app.send('POST /api-token-auth/', { payload })).json();
  const headers = { authorization: `Token ${token}` };
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ACME, ADA, 'Ada Lovelace');
  await page.getByRole('button', { name: 'Log out everywhere' }).click();
  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 200);
  await page.getByRole('dialog').getByRole('button', { name: 'Log out' }).click();
  await page.getByText('is logged out everywhere').waitFor();

  assert.is((await app.send('GET /jb/apps/', { headers })).statusCode, 401);
  assert.is(await page.getByRole('button', { name: 'Erase this person' }).count(), 0);
});

person('a superuser erases a person after typing the address', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openPerson(page, ROOT, 'idle@acme.test', 'Ida Idle');
  await page.getByRole('button', { name: 'Erase this person' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('It cannot be undone').waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Erase' }).isDisabled());
  await dialog.getByLabel('Type the email address').fill('idle@acme.test');
  await dialog.getByRole('button', { name: 'Erase' }).click();
  await waitForHeading(page, 'People');

  assert.is((await app.send('GET /jb/users/idle@acme.test/', { as: ROOT })).statusCode, 404);
});

person.run();
