import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { inviteByLink } from '../support/mails.ts';

const invitation = browserSuite('invitation page in Chromium');

/** Presses Tab until the element with this label has the focus. */
const tabTo = async (page: Page, name: string): Promise<void> => {
  for (let stops = 0; stops < 20; stops += 1) {
    await page.keyboard.press('Tab');
    const label = await page.evaluate<string>(
      'document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent',
    );
    if (label.trim() === name) return;
  }
  assert.unreachable(`Tab does not reach ${name}`);
};

invitation('accepts an invitation with the keyboard alone', async ({ app, browser }) => {
  const { path } = await inviteByLink(app, { email: 'mary@acme.test', apps: ['zylTKNVx'] });
  await using visit = await browser.open();
  const { page } = visit;
  await page.goto(path);
  await waitForHeading(page, 'You are invited to Acme Analytics');

  await tabTo(page, 'First name');
  await page.keyboard.type('Mary');
  await tabTo(page, 'Last name');
  await page.keyboard.type('Shaw');
  await tabTo(page, 'Choose a password');
  await page.keyboard.type('mary');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  // The focus is on the field with the error, so the user can type at once.
  await page.keyboard.type('a fine new one');
  await tabTo(page, 'Accept and log in');
  await page.keyboard.press('Space');
  await waitForHeading(page, 'Hello Mary');
});

invitation('shows a second browser that the invitation was already accepted', async ({ app, browser }) => {
  const { path } = await inviteByLink(app, { email: 'used@acme.test' });
  await using first = await browser.open();
  await using second = await browser.open();
  for (const { page } of [first, second]) {
    await page.goto(path);
    await page.getByLabel('First name').fill('Una');
    await page.getByLabel('Choose a password').fill('a fine new one');
  }
  await first.page.getByRole('button', { name: 'Accept and log in' }).click();
  await waitForHeading(first.page, 'Hello Una');
  await second.page.getByRole('button', { name: 'Accept and log in' }).click();
  await waitForHeading(second.page, 'Invitation already accepted');
  await second.page.goto(path);
  await waitForHeading(second.page, 'Invitation already accepted');
});

invitation('accepts once on a double click', async ({ app, browser }) => {
  const { path } = await inviteByLink(app, { email: 'double@acme.test' });
  await using visit = await browser.open();
  const { page } = visit;
  await page.goto(path);
  await page.getByLabel('First name').fill('Dora');
  await page.getByLabel('Choose a password').fill('a fine new one');
  await page.getByRole('button', { name: 'Accept and log in' }).dblclick();
  const heading = page.getByRole('heading', { level: 1, name: /^(Hello Dora|Invitation already accepted)$/ });
  await heading.waitFor();
});

invitation.run();
