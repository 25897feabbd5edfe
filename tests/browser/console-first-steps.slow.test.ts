import * as assert from 'uvu/assert';
import { browserSuite } from '../support/browser.ts';
import { chooseClient, create, openConsole, typeAddresses, waitForData } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ROOT } from '../support/test-app.ts';

const steps = browserSuite('the first steps of a new client');

const EMAIL = 'first@nova.test';

steps('lead from no app to the first visit, and stay until they are hidden', async ({ app, page }) => {
  const root = app.as(ROOT);
  const site = await root.sites.create({ domain: 'nova.test', name: 'Nova' });
  const { id } = await root.clients.create({ name: 'Nova', site: site.id });
  await openConsole(page, '/console/', ROOT);
  await chooseClient(page, 'Nova');
  const card = page.getByRole('region', { name: 'First steps' });
  await card.getByText('0 of 3').waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-first-steps');

  await card.getByRole('button', { name: 'Add an app' }).click();
  await page.getByRole('textbox', { name: 'Address' }).waitFor();
  await page.keyboard.type('https://wiki.example.com/');
  await page.keyboard.press('Enter');
  await card.getByText('1 of 3').waitFor();

  await card.getByRole('link', { name: 'Invite' }).click();
  await typeAddresses(page, EMAIL);
  await page.getByRole('button', { name: 'Apps: Wiki' }).waitFor();
  await create(page, '1 invitation').click();
  await page.evaluate('navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }');
  await page.getByRole('button', { name: 'Copy the link' }).click();
  await page.getByText('Copied 1 link.').waitFor();
  assert.match(String(await page.evaluate('copied')), /^http\S+signature=\S+$/);
  await page.getByRole('link', { name: 'Home', exact: true }).click();
  await card.getByText('2 of 3').waitFor();

  const member = 'member@nova.test';
  const [wiki] = await root.apps.list({ client: id });
  await root.users.create({ email: member, client: id, apps: wiki ? [wiki.id] : [] });
  await app.as(member).apps.launch({ app_slug: 'wiki' });
  await page.reload();
  await page.getByRole('heading', { name: 'For your attention in Nova' }).waitFor();
  await waitForData(page);
  await card.getByText('All done: the first person has opened an app.').waitFor();
  await card.getByRole('button', { name: 'Hide' }).click();
  await card.waitFor({ state: 'detached' });
});

steps.run();
