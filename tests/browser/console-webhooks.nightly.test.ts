import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { MINUTE_MS } from '../../src/lib/clock.ts';
import { browserSuite, REFUSED, waitForHeading } from '../support/browser.ts';
import { chooseFilter, chooseFromMenu, openConsole, waitForData } from '../support/console.ts';
import { setRows } from '../support/rows.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, DEMO_PASSWORD, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

const webhooks = browserSuite('webhooks in the console', REFUSED);

const TAB = '/console/clients/1?tab=webhooks';
let receiver: Receiver;

webhooks.before(async () => {
  receiver = await startReceiver();
});
webhooks.after(() => receiver.close());
webhooks.before.each(() => {
  receiver.answer = () => 204;
});
webhooks.after.each(async ({ app }) => {
  await app.db().deleteFrom('webhooks').execute();
});

const create = (app: TestApp) => app.as(ROOT).webhooks.create({ url: receiver.url, client: 1 });

/** Creates a webhook with deliveries: one has arrived, one has failed, and one waits. */
const createUsed = async (app: TestApp) => {
  const webhook = await create(app);
  for (const first_name of ['Amazing', 'Astounding', 'Grace'])
    await app.as(ACME).users.update({ email: GRACE, first_name });
  await app.as(ACME).events.list({});
  const rows = await app.as(ROOT).webhooks.deliveries({ id: webhook.id });
  const [waiting, failed, delivered] = rows.map(({ event }) => event);
  assert.ok(waiting && failed && delivered);
  const at = app.clock.now();
  const attempt = { attempts: 1, last_attempt_at: at, next_attempt_at: null, duration_ms: 83 };
  const body = { type: 'user.updated', timestamp: at, data: { id: delivered } };
  const set = (event: number, fields: object) =>
    setRows(app, 'webhook_deliveries', { event_id: event }, { ...attempt, body, ...fields });
  await set(delivered, { status: 204, response: '', delivered_at: at });
  await set(failed, { status: 503, attempts: 14, response: 'Down for maintenance', failed_at: at });
  return webhook;
};

const openWebhook = async (page: Page, { id, url }: { id: number; url: string }) => {
  await openConsole(page, `/console/webhooks/${id}`);
  await waitForHeading(page, new URL(url).host);
  await waitForData(page);
};
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

webhooks('a client admin creates one, and sees its secret once', async ({ app, page }) => {
  await openConsole(page, TAB);
  await page.getByText('No webhooks yet').waitFor();
  await page.getByRole('link', { name: 'the API reference' }).waitFor();
  await page.getByRole('button', { name: 'Create a webhook' }).click();
  const dialog = page.getByRole('dialog', { name: 'New webhook' });
  await dialog.getByLabel('URL').fill(receiver.url);
  await dialog.getByRole('radio', { name: 'Only some types' }).check();
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('Choose at least one.').waitFor();
  await dialog.getByRole('combobox', { name: 'Types' }).fill('changed their');
  await page.getByRole('option', { name: 'Changed their password' }).click();
  await dialog.getByRole('combobox', { name: 'Types' }).fill('user.upd');
  await page.getByRole('option', { name: 'Changed a person' }).click();
  await page.keyboard.press('Tab');
  await assertLooksGood(page, 'console-webhook-form');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const secret = page.getByRole('dialog').getByLabel('Secret');
  assert.match(await secret.inputValue(), /^whsec_/);
  await press(page, 'Done');
  const [created] = await app.as(ACME).webhooks.list({});
  assert.equal([...(created?.types ?? [])].sort(), ['password.changed', 'user.updated']);
  assert.is(created?.client, 1);
});

webhooks('deliveries are filtered, shown, and sent again', async ({ app, page }) => {
  await openWebhook(page, await createUsed(app));
  await page.getByText('Delivered').waitFor();
  await assertLooksGood(page, 'console-webhook');
  await chooseFilter(page, 'Status', 'Failed');
  await page.waitForURL('**status=failed');
  const rows = page.getByRole('table', { name: 'Deliveries' }).getByRole('rowheader');
  await until('only the failed one is shown', async () => (await rows.count()) === 1);
  await rows.getByRole('button').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('503 in 83 ms').waitFor();
  await dialog.getByRole('region', { name: 'What was answered' }).getByText('Down for maintenance').waitFor();
  assert.match(await dialog.getByRole('region', { name: 'What was sent' }).innerText(), '"user.updated"');
  await dialog.getByRole('button', { name: 'Send again' }).click();
  await page.getByText(/^Event \d+ is sent again\.$/).waitFor();
  await page.getByText('No deliveries match').waitFor();
});

webhooks('it is tested, and events since a time are replayed once it is active', async ({ app, page }) => {
  const webhook = await createUsed(app);
  await openWebhook(page, webhook);
  await press(page, 'Send a test');
  await page.getByText(/^Answered 204 in \d+ ms$/).waitFor();
  receiver.answer = () => 500;
  await press(page, 'Send a test');
  await page.getByText(/^Answered 500 in \d+ ms$/).waitFor();
  await press(page, 'Close the result of the test');
  await page.getByText('Answered').waitFor({ state: 'detached' });

  await chooseFromMenu(page, 'Deactivate…');
  await press(page, 'Deactivate');
  await page.getByText('This webhook is not active').waitFor();
  const replay = async (): Promise<void> => {
    await chooseFromMenu(page, 'Replay events…');
    await page.getByLabel('Events since').fill('2026-01-01T00:00');
    await press(page, 'Replay');
  };
  await replay();
  await page.getByText('Activate the webhook first.').waitFor();
  await press(page, 'Cancel');
  await page.getByRole('note').getByRole('button', { name: 'Activate' }).click();
  await page.getByText('Webhook activated.').waitFor();
  await replay();
  await page.getByText(/events are sent again\.$/).waitFor();
});

webhooks('it is edited, gets a new secret, and is removed', async ({ app, browser, page }) => {
  const webhook = await create(app);
  await openWebhook(page, webhook);
  await press(page, 'Edit');
  await page.getByLabel('Description').fill('The ticket system');
  await press(page, 'Save');
  await page.getByText('The ticket system').waitFor();
  await chooseFromMenu(page, 'Replace the secret…');
  await press(page, 'Replace');
  const secret = page.getByRole('dialog').getByLabel('Secret');
  assert.match(await secret.inputValue(), /^whsec_/);
  assert.is.not(await secret.inputValue(), webhook.secret);
  await page.getByText(/the previous secret works, too\.$/).waitFor();
  await press(page, 'Done');

  await browser.advance(16 * MINUTE_MS);
  await chooseFromMenu(page, 'Remove…');
  await press(page, 'Remove');
  await page.getByLabel('Password', { exact: true }).fill(DEMO_PASSWORD);
  await press(page, 'Confirm');
  await waitForHeading(page, 'Webhooks');
  await page.getByText('No webhooks yet').waitFor();
  assert.equal(await app.as(ROOT).webhooks.list({}), []);
});

webhooks.run();
