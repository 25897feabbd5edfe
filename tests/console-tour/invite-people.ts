import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { waitForHeading } from '../support/browser.ts';
import { csvOfPeople, FAULTS } from './people.ts';
import type { Tour } from './tour.ts';

const COUNT = 200;

const rowOf = (page: Page, email: string) =>
  page.getByRole('row').filter({ has: page.getByRole('button', { name: `Remove ${email}`, exact: true }) });

const chooseSales = async (page: Page, email: string): Promise<void> => {
  await rowOf(page, email).getByRole('button', { name: 'Apps of' }).click();
  await page.getByRole('checkbox', { name: 'sails (unknown)' }).click();
  await page.getByRole('checkbox', { name: 'Sales', exact: true }).check();
  await page.keyboard.press('Escape');
};

/** The service has checked what the console cannot know: the errors come back in the rows. */
const fixFaults = async (page: Page): Promise<void> => {
  for (const { email, app, fixed } of FAULTS) {
    if (app === 'sails') continue;
    const name = email === '' ? 'Remove' : `Remove ${email}`;
    const row = page.getByRole('row').filter({ has: page.getByRole('button', { name, exact: true }) });
    await row.getByRole('textbox', { name: /^Email address/ }).fill(fixed);
  }
};

export const invitePeople = async ({ page, read, smtp, screenshot }: Tour): Promise<string> => {
  await page.getByRole('link', { name: 'Invite', exact: true }).click();
  await waitForHeading(page, 'Invite people');
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(csvOfPeople()) });
  await page.getByText('This client has no app sails.').waitFor();
  await page.getByText('5 rows have errors').waitFor();
  await screenshot('invite');
  assert.equal(await read('/jb/users/invitations/'), [], 'nothing is sent before');

  await chooseSales(page, 'paul.wolf@graz.test');
  await fixFaults(page);
  const send = page.getByRole('button', { name: `Send ${COUNT} invitations` });
  await send.click();
  await waitForHeading(page, 'Invitations created');
  await page.getByRole('status').getByText(`${COUNT} sent`).waitFor();
  await screenshot('delivery');

  const recipients = new Set(smtp.recipients());
  assert.is(recipients.size, COUNT);
  for (const { fixed } of FAULTS) assert.ok(recipients.has(fixed), fixed);
  const invitations = await read('/jb/users/invitations/');
  assert.is(invitations.filter(({ invitation_email_count: count }) => count === 1).length, COUNT);
  return `${COUNT} mails were delivered after 5 errors were fixed`;
};
