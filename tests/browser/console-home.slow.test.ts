import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { browserSuite } from '../support/browser.ts';
import { openConsole, showing } from '../support/console.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ROOT } from '../support/test-app.ts';
import { eventually } from '../support/time.ts';
import { SALES } from '../support/usage.ts';

const home = browserSuite('Home of the console');

const GUEST = 'expires-soon@acme.test';

home.before(async ({ app }) => {
  await app.as(ACME).invitations.create({ items: [{ email: GUEST, client: 1 }] });
  const soon = new Date(app.clock.now().getTime() + DAY_MS);
  await app.db().updateTable('invitations').set({ expires_at: soon }).where('email', '=', GUEST).execute();
  await app.as(ACME).apps.update({ app_id: SALES, in_maintenance: true });
});

testAppearance(home, { 'console-home-attention': showing('/console/', 'Hello Alex') });

home('a line for each kind leads to what needs attention', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/');
  const line = page.getByRole('listitem').filter({ hasText: '1 app in maintenance' });
  await line.getByRole('link', { name: 'Sales' }).waitFor();
  await line.getByRole('link', { name: 'Review apps in maintenance' }).click();
  await page.waitForURL('**/apps?in_maintenance=true');
  await page.locator('h1:focus', { hasText: 'Apps' }).waitFor();
  await page.getByRole('table').getByRole('link', { name: 'Sales' }).waitFor();
});

home('invitations that are about to expire are sent again with one click', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/');
  const line = page.getByRole('listitem').filter({ hasText: '1 invitation about to expire' });
  await line.getByText(GUEST).waitFor();
  await page.getByRole('button', { name: 'Send again: expiring invitations' }).click();
  await page.getByText('1 of 1 sent again.').waitFor();
  await line.waitFor({ state: 'detached' });

  const [invitation] = await app.as(ACME).invitations.search({ search: GUEST });
  const inAWeek = new Date(app.clock.now().getTime() + 7 * DAY_MS);
  assert.ok(invitation && invitation.expires_at > inAWeek, 'a mail that is sent again starts the time again');
});

home(
  'the figures are those of four weeks, with the change against the four before',
  async ({ app, browser }) => {
    await using visit = await browser.open();
    const { page } = visit;
    await openConsole(page, '/console/', ROOT);
    const { actions, previous_actions, users, used_apps } = await app.as(ROOT).usage.summary({});
    const number = (value: number) => value.toLocaleString('en-US');
    const shown = (label: string) =>
      page.locator('dl > div').filter({ has: page.getByText(label, { exact: true }) });
    await eventually(async () => {
      assert.match(await shown('Actions').innerText(), number(actions));
      assert.match(await shown('Active people').innerText(), number(users));
      assert.match(await shown('Apps in use').innerText(), number(used_apps));
    });
    await shown('Actions')
      .getByTitle(`${number(previous_actions)} in the 28 days before`)
      .waitFor();
  },
);

home.run();
