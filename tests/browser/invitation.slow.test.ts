import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { browserSuite, fillLogin, logIn, waitForHeading } from '../support/browser.ts';
import { inviteByLink } from '../support/mails.ts';
import { assertLooksGood, testAppearance } from '../support/screenshots.ts';
import { ACME, ADA, DEMO_PASSWORD, GLOBEX } from '../support/test-app.ts';

const invitation = browserSuite('invitation and error pages in Chromium');

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

invitation('accepts an invitation with the keyboard alone', async ({ app, page }) => {
  const invitation_body = 'Dear colleague,\n\nhave a look at the sales figures.\n\nAlex';
  await app.as(ACME).clients.update({ id: 1, invitation_body });
  const { path } = await inviteByLink(app, { email: 'mary@acme.test', apps: ['zylTKNVx', 'Qm3vR8pa'] });
  await page.goto(path);
  await waitForHeading(page, 'You are invited to Acme Analytics');
  await assertLooksGood(page, 'invitation');
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
  await assertLooksGood(page, 'invitation-weak');
  await tabTo(page, 'Accept and log in');
  await page.keyboard.press('Space');
  await waitForHeading(page, 'Hello Mary');
});

testAppearance(invitation, {
  'invitation-login': async (page, app) => {
    await page.goto((await inviteByLink(app, { email: ADA, client: 2, by: GLOBEX })).path);
  },
  'invitation-accept': async (page, app) => {
    await logIn(page, ADA);
    await page.goto((await inviteByLink(app, { email: ADA, client: 2, by: GLOBEX })).path);
  },
  'invitation-other-user': async (page, app) => {
    await logIn(page, ADA);
    await page.goto((await inviteByLink(app, { email: 'other@acme.test' })).path);
  },
  'invitation-expired': async (page, app) => {
    const { path } = await inviteByLink(app, { email: 'late@acme.test' });
    app.clock.advance(15 * DAY_MS);
    await page.goto(path);
  },
  'not-found': (page) => page.goto('/nowhere/'),
  failure: async (page, app) => {
    await app.orm.em.fork().execute('alter table sessions rename to sessions_away');
    await page.goto('/login/');
    await fillLogin(page, ADA, DEMO_PASSWORD);
    await waitForHeading(page, 'Something went wrong on our side');
    await app.orm.em.fork().execute('alter table sessions_away rename to sessions');
  },
});

invitation.run();
