import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { chooseFromMenu, openConsole, waitForData } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME } from '../support/test-app.ts';

const accounts = browserSuite('service accounts in the console');

accounts('an admin creates one with a token, deactivates it and removes it', async ({ app, page }) => {
  await openConsole(page, '/console/service-accounts', ACME);
  await page.getByRole('button', { name: 'New service account' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Nightly export');
  await page.getByRole('checkbox', { name: /^Auditor/ }).check();
  await page.getByText('Nightly export can:').waitFor();
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await waitForHeading(page, 'Nightly export');

  await page.getByLabel('Name of a new token').fill('Host 1');
  await page.getByRole('button', { name: 'Create token' }).click();
  const token = await page.getByRole('textbox', { name: 'Token', exact: true }).inputValue();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: 'Revoke Host 1' }).waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-service-account');
  const read = async () =>
    (await app.send('GET /jb/users/', { headers: { authorization: `Token ${token}` } })).statusCode;
  assert.is(await read(), 200);

  await chooseFromMenu(page, 'Deactivate…');
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
  await page.getByText('Service account deactivated.').waitFor();
  assert.is(await read(), 401);

  await chooseFromMenu(page, 'Remove…');
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('No service accounts yet').waitFor();
  assert.equal(await app.as(ACME).serviceAccounts.list({}), []);
});

accounts.run();
