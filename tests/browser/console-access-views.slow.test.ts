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

views('an admin makes a link that works until Friday, and has it copied', async ({ app, page }) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await setApp(app, { launch_url: '' });
  await openConsole(page, PATH, ACME);
  await waitForHeading(page, 'Sales');
  await page.waitForURL(`**/console/apps/${SALES}?tab=links`);
  await page.getByText('This app has no address yet').waitFor();
  await setApp(app, { launch_url: LAUNCH_URL });
  await page.getByRole('button', { name: 'New share link' }).click();
  await page.getByLabel('Label').fill('Board meeting');
  await page.getByRole('combobox', { name: 'Works until' }).click();
  await page.getByRole('option', { name: 'Until Friday' }).click();
  await assertLooksGood(page, 'console-new-share-link');
  await page.getByRole('button', { name: 'Create and copy' }).click();

  const dialog = page.getByRole('dialog', { name: 'Board meeting' });
  await dialog.getByText('Link created and copied.').waitFor();
  const url = await dialog.getByRole('textbox', { name: 'Link', exact: true }).inputValue();
  assert.is(await page.evaluate('navigator.clipboard.readText()'), url);
  await assertLooksGood(page, 'console-share-link');
  const [link] = await app.as(ACME).accessViews.list({ app: 'sales', limit: 1 });
  assert.equal([link?.label, link?.user, link?.url, link?.allowed_uses_cnt], ['Board meeting', null, url, 0]);
  const day = await page.evaluate(`new Date(${link?.expires_at?.getTime()}).getDay()`);
  assert.is(day, 5);
});

views(
  'an admin makes a link for a person, opens it, changes it and switches it off',
  async ({ app, page }) => {
    await setApp(app, { launch_url: LAUNCH_URL });
    await openConsole(page, PATH, ACME);
    await page.getByRole('button', { name: 'New share link' }).click();
    await page.getByRole('radio', { name: 'One person' }).click();
    await page.getByRole('combobox', { name: 'Person' }).fill('hopp');
    await page.getByRole('option', { name: `Grace Hopper, ${GRACE}` }).click();
    await page.getByLabel('Number of uses').fill('2');
    await page.getByRole('button', { name: 'Add to data permissions' }).click();
    await page.getByLabel('Key of the new row').fill('region');
    await page.getByRole('combobox', { name: 'Values of region' }).fill('North');
    await page.getByRole('button', { name: 'More options' }).click();
    await page.getByRole('combobox', { name: 'Networks' }).fill('10.0.0.0/33');
    await page.getByRole('button', { name: 'Create and copy' }).click();
    await page.getByText('10.0.0.0/33: ').waitFor();
    await assertLooksGood(page, 'console-new-share-link-of-a-person');
    await page.getByRole('combobox', { name: 'Networks' }).press('Backspace');
    await page.getByRole('button', { name: 'Create and copy' }).click();

    const dialog = page.getByRole('dialog', { name: 'Link for Grace Hopper' });
    const opened = page.context().waitForEvent('page');
    await dialog.getByRole('link', { name: 'Open the link' }).click();
    const link = await opened;
    await link.getByText('can be opened 2 times').waitFor();
    await assertLooksGood(link, 'open-access-view');
    await link.getByRole('button', { name: 'Open Sales' }).click();
    await link.waitForURL(/\/avatars\/S\.svg\?code=/);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Link for Grace Hopper', exact: true }).click();
    await dialog.getByText('1 of 2').waitFor();
    await dialog.getByRole('tab', { name: 'Uses' }).click();
    await dialog.getByText('127.0.0.1').waitFor();
    await assertLooksGood(page, 'console-share-link-uses');

    await dialog.getByRole('tab', { name: 'Settings' }).click();
    await dialog.getByLabel('Label').fill('For Grace');
    await dialog.getByRole('combobox', { name: 'Works until' }).click();
    await page.getByRole('option', { name: 'No end' }).click();
    await dialog.getByText(/^Ends: .* → no end$/).waitFor();
    await assertLooksGood(page, 'console-share-link-settings');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog', { name: 'For Grace' }).getByText('Saved.').waitFor();
    await page
      .getByRole('dialog', { name: 'For Grace' })
      .getByRole('tab', { name: 'Link', exact: true })
      .click();
    await page.getByRole('button', { name: 'Switch off…' }).click();
    const question = page.getByRole('dialog', { name: 'Switch off the share link?' });
    await question.getByRole('button', { name: 'Switch off' }).click();
    await page.getByText('Share link switched off.').waitFor();
    const [view] = await app.as(ACME).accessViews.list({ app: 'sales', user: GRACE });
    assert.equal(
      [view?.is_active, view?.label, view?.expires_at, view?.data_permissions, view?.usages_cnt],
      [false, 'For Grace', null, { region: ['North'] }, 1],
    );
  },
);

views('a superuser rotates the signing key, and closes a client', async ({ app, page }) => {
  await ticketOf(app, ADA);
  await openConsole(page, '/console/keys', ROOT);
  await page.getByRole('button', { name: 'Rotate' }).waitFor();
  await assertLooksGood(page, 'console-signing-keys');
  await page.getByRole('button', { name: 'Rotate' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await page.getByText('The new keys sign as soon as all apps can know them.').waitFor();
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
