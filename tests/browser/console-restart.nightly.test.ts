import type { Page } from 'playwright-core';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fillLogin, launchChromium, openTab, waitForHeading } from '../support/browser.ts';
import { waitForData } from '../support/console.ts';
import { startService } from '../support/service-process.ts';
import { freePort } from '../support/tcp.ts';
import { ACME, DEMO_PASSWORD, GRACE } from '../support/test-app.ts';
import { makeDataDir } from '../support/test-server.ts';

const restart = suite('the console during a restart of the service');

const bannerOf = (page: Page) => page.getByRole('status').filter({ hasText: 'The page keeps trying.' });

/** Opens a person in the console of a service that the test stops and starts again. */
const openPerson = async (page: Page): Promise<void> => {
  await page.goto(`/console/people/${GRACE}?tab=profile`);
  await fillLogin(page, ACME, DEMO_PASSWORD);
  await waitForHeading(page, 'Grace Hopper');
  await waitForData(page);
};

restart('says that the service is away, and goes on without a reload when it is back', async () => {
  await using folder = await makeDataDir();
  const PORT = String(await freePort());
  const settings = { DATA_DIR: folder.path, PORT, BASE_URL: `http://localhost:${PORT}` };
  const before = await startService('demo', settings);
  await using chromium = await launchChromium();
  const page = await openTab(chromium, { baseURL: settings.BASE_URL });
  await openPerson(page);
  await page.getByRole('link', { name: 'Audit trail', exact: true }).click();
  await waitForHeading(page, 'Audit trail');
  await page.goBack();
  await waitForData(page);
  await page.evaluate('globalThis.isSamePage = true');

  await before.kill('SIGTERM');
  await page.getByLabel('First name').fill('Amazing');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await bannerOf(page).waitFor();

  await using after = await startService('demo', settings);
  await bannerOf(page).waitFor({ state: 'detached' });
  await page.getByText('Your changes are still here, but may not be saved. Save again?').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').waitFor();
  const { token } = await after.logIn(ACME, DEMO_PASSWORD);
  assert.is((await after.send(`GET /jb/users/${GRACE}/`, { token })).json.first_name, 'Amazing');
  // The console listens to events again.
  await after.send(`PATCH /jb/users/${GRACE}/`, { token, body: { first_name: 'Astounding' } });
  await waitForHeading(page, 'Astounding Hopper');
  await page.getByRole('link', { name: 'Audit trail', exact: true }).click();
  await waitForHeading(page, 'Audit trail');
  assert.is(await page.evaluate('globalThis.isSamePage'), true);
});

restart.run();
