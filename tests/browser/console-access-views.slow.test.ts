import * as assert from 'uvu/assert';
import { setApp, ticketOf } from '../support/access-views.ts';
import { browserSuite, REFUSED, waitForHeading } from '../support/browser.ts';
import { goTo, openConsole } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, GRACE, ROOT } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const views = browserSuite('access views in the console', REFUSED);
const PATH = `/console/apps/${SALES}/views`;
const LAUNCH_URL = 'http://localhost:8000/avatars/S.svg';

views('an admin creates a view, opens the app as it, sees the use, and revokes it', async ({ app, page }) => {
  await setApp(app, { launch_url: '' });
  await openConsole(page, PATH, ACME);
  await waitForHeading(page, 'Sales');
  await page.waitForURL(`**/console/apps/${SALES}?tab=links`);
  await page.getByText('This app has no address yet').waitFor();
  await setApp(app, { launch_url: LAUNCH_URL });
  await page.getByRole('button', { name: 'New share link' }).click();
  await page.getByRole('combobox', { name: 'Person' }).fill('edsger@globex.test');
  await page.getByLabel('Networks').fill('10.0.0.0/33');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.locator('[aria-invalid=true]').first().waitFor();
  assert.is(await page.getByLabel('Networks').inputValue(), '10.0.0.0/33', 'what was typed is kept');
  await assertLooksGood(page, 'console-new-access-view');
  await page.getByLabel('Networks').fill('');
  await page.getByRole('combobox', { name: 'Person' }).fill('hopp');
  await page.getByRole('option', { name: `Grace Hopper, ${GRACE}` }).click();
  await page.getByLabel('Number of uses').fill('2');
  await page.getByLabel('Data permissions').fill('{"region": ["North"]}');
  await page.getByRole('button', { name: 'Create' }).click();

  const dialog = page.getByRole('dialog', { name: `Share link for ${GRACE}` });
  const url = await dialog.getByLabel('Link', { exact: true }).inputValue();
  assert.match(await dialog.getByLabel('HTML for another page').inputValue(), `<iframe src="${url}"`);
  const opened = page.context().waitForEvent('page');
  await dialog.getByRole('link', { name: 'Open the link' }).click();
  const link = await opened;
  await link.getByText('can be opened 2 times').waitFor();
  await assertLooksGood(link, 'open-access-view');
  await link.getByRole('button', { name: 'Open Sales' }).click();
  await link.waitForURL(/\/avatars\/S\.svg\?code=/);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: `Show the view for ${GRACE}` }).click();
  await dialog.getByText('Active, used 1 of 2.').waitFor();
  await dialog.getByText('127.0.0.1').waitFor();
  await assertLooksGood(page, 'console-access-views');

  await dialog.getByRole('button', { name: 'Revoke' }).click();
  const question = page.getByRole('dialog', { name: 'Revoke the share link?' });
  await question.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('Share link revoked.').waitFor();
  const [view] = await app.as(ACME).accessViews.list({ app: 'sales', user: GRACE });
  assert.equal(
    [view?.is_active, view?.data_permissions, view?.usages_cnt],
    [false, { region: ['North'] }, 1],
  );
});

views('a superuser rotates the signing key, and closes a client', async ({ app, page }) => {
  await ticketOf(app, ADA);
  await openConsole(page, '/console/keys', ROOT);
  await page.getByRole('button', { name: 'Rotate' }).waitFor();
  await assertLooksGood(page, 'console-signing-keys');
  await page.getByRole('button', { name: 'Rotate' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await page.getByText('The new keys sign as soon as every app can know them.').waitFor();
  const { keys } = await app.as(ROOT).signingKeys.list({});
  assert.equal(
    keys.map(({ state }) => state),
    ['pending', 'signing'],
  );

  await goTo(page, '/console/clients/1');
  await page.getByRole('tab', { name: 'Apps', exact: true }).click();
  await page.getByLabel('Sites that may show its apps in frames').fill('https://portal.example.com');
  await page.getByRole('button', { name: 'Save', exact: true }).first().click();
  await page.getByText('Saved.').waitFor();
  const { count } = await app.as(ROOT).users.count({ client: 1, is_active: true });
  await page.getByRole('tab', { name: 'Close or remove' }).click();
  await page.getByRole('button', { name: 'Close Acme Analytics…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(`Its apps close at once for ${count} people.`).waitFor();
  await dialog.getByRole('button', { name: 'Close the client' }).click();
  await page.getByText('Closed', { exact: true }).waitFor();
  assert.equal(await app.as(ROOT).clients.gate({ id: 1 }), {
    is_open: false,
    embed_origins: ['https://portal.example.com'],
  });
});

views.run();
