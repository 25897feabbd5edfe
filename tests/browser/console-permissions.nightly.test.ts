import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole, waitForData } from '../support/console.ts';
import { GRACE, ROOT } from '../support/test-app.ts';
import { FLEET, SALES } from '../support/usage.ts';

const permissions = browserSuite('permissions in the console');

const CHANGES =
  /^(Save|Grant an app|Change |New share link|Revoke|Retry now|Resend|Actions for|Log out everywhere)/;

/** Grace is staff and administers Acme: she sees everything, and changes what belongs to Acme. */
permissions.before(async ({ app }) => {
  await app.as(ROOT).roles.update({ email: GRACE, is_staff: true });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: true });
});

permissions(
  'staff who administer one client change its membership of a person apart from the account',
  async (context) => {
    const { app, browser } = context;
    const email = 'both@acme.test';
    await app.as(ROOT).users.create({ email, first_name: 'Bo', apps: [SALES, FLEET] });
    await using visit = await browser.open();
    const { page } = visit;
    await openConsole(page, `/console/people/${email}`, GRACE);
    await waitForHeading(page, 'Bo');
    await page.getByText('You can change their apps, and their membership under Clients.').waitFor();
    await page.getByRole('button', { name: 'Grant an app' }).waitFor();
    await waitForData(page);
    assert.equal(await page.getByRole('button', { name: CHANGES }).allInnerTexts(), ['', 'Grant an app']);
    await page.getByRole('tab', { name: 'Profile' }).click();
    assert.is(await page.getByLabel('First name').getAttribute('readonly'), '');
    await page.getByRole('tab', { name: 'Access' }).click();
    await page.getByRole('button', { name: 'Suspend in' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('Suspended in Acme Analytics.').waitFor();

    const found = (await app.as(ROOT).memberships.list({ email })).map(({ is_active }) => is_active);
    assert.equal(found, [false, true]);
  },
);

permissions.run();
