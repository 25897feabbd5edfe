import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { browserSuite } from '../support/browser.ts';
import { openConsole, waitForData } from '../support/console.ts';
import { endGrants, forgetReminders, remindersIn } from '../support/reminders.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, ADA, GRACE, type TestApp } from '../support/test-app.ts';

const reminders = browserSuite('reminders of a client in the console');

const TAB = '/console/clients/1?tab=reminders';
const SAVED = {
  access_days: 7,
  access_admins: true,
  invitation_days: 3,
  inactive_days: 30,
  suspend_days: 14,
  weekly_digest: true,
};

reminders.before.each(({ app }) => forgetReminders(app));

/** Ada's access ends in five days, and Grace was not seen for long. */
const prepare = async (app: TestApp): Promise<void> => {
  await endGrants(app, ADA, new Date(app.clock.now().getTime() + 5 * DAY_MS));
  const users = sql`(select id from users where email = ${GRACE})`;
  for (const statement of [
    sql`update users set last_login = null, date_joined = '2025-01-01' where id in ${users}`,
    sql`update memberships set joined_at = '2025-01-01' where user_id in ${users}`,
    sql`delete from sessions where user_id in ${users}`,
    sql`delete from api_tokens where user_id in ${users}`,
    sql`delete from usage_days where user_id in ${users}`,
  ])
    await statement.execute(app.db());
};

const switchOf = (page: Page, name: string) => page.getByRole('switch', { name, exact: true });
const save = (page: Page): Promise<void> => page.getByRole('button', { name: 'Save', exact: true }).click();
const isSaved = (page: Page): Promise<void> => page.getByText('Saved.').waitFor();
const shows = (page: Page, text: RegExp): Promise<void> =>
  page.getByRole('listitem').filter({ hasText: text }).waitFor();

reminders('a client admin turns them on, and sees who gets which mail', async ({ app, page }) => {
  const read = () => app.as(ACME).reminders.get({ id: 1 });
  await prepare(app);
  await openConsole(page, TAB);
  await page.getByText('Everything is off. No mails are sent.').waitFor();
  for (const name of ['Access that ends', 'Invitations that expire', 'Inactivity', 'Weekly digest'])
    await switchOf(page, name).check();
  await page.getByLabel('Mail the admins too').check();
  await page.getByLabel('Days without use').fill('30');
  await switchOf(page, 'Suspend people who stay inactive').check();
  await page.getByLabel('Days after the warning').fill('14');
  await shows(page, /One person is mailed that their access ends: ada@acme\.test \(.*Sales/);
  await shows(page, /One admin is mailed about access that ends: admin@acme\.test\./);
  await shows(page, /No invited person is reminded\./);
  await shows(page, /warned:.*grace@acme\.test \(has never logged in\)/);
  await shows(page, /No member is suspended\./);
  await shows(page, /One admin gets the digest: admin@acme\.test\. From the last seven days/);
  await waitForData(page);
  await assertLooksGood(page, 'console-client-reminders');
  await save(page);
  await isSaved(page);
  assert.equal(await read(), SAVED);
  assert.equal(await remindersIn(app), [], 'the next run sends the mails');

  await page.reload();
  await page.getByLabel('Days without use').waitFor();
  assert.is(await page.getByLabel('Days without use').inputValue(), '30');
  assert.ok(await switchOf(page, 'Weekly digest').isChecked());
  await switchOf(page, 'Inactivity').uncheck();
  await save(page);
  await isSaved(page);
  const off = { ...SAVED, inactive_days: 0, suspend_days: 0 };
  assert.equal(await read(), off, 'no suspension without a warning');
});

reminders.run();
