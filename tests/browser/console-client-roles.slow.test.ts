import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole, waitForData } from '../support/console.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { ACME, GRACE } from '../support/test-app.ts';

const roles = browserSuite('roles of a client in the console');

const ROLES = '/console/clients/1?tab=people';

roles('an admin gives a role after a preview, and its screens end with it', async ({ app, page }) => {
  const isListed = async (): Promise<boolean> => {
    await openConsole(page, '/console/account', GRACE);
    await waitForHeading(page, 'Account');
    return page.getByRole('link', { name: 'Audit trail' }).isVisible();
  };
  const auditor = page.getByRole('dialog').getByRole('checkbox', { name: /^Auditor/ });
  const save = page.getByRole('dialog').getByRole('button', { name: 'Save' });

  await openConsole(page, ROLES, ACME);
  await page.getByRole('button', { name: 'Give a role' }).click();
  await page.getByRole('dialog').getByLabel('Email address').fill(GRACE);
  assert.ok(await page.getByRole('checkbox', { name: /^Client admin/ }).isDisabled());
  await auditor.check();
  await page.getByRole('region', { name: 'Preview' }).getByText('Read the audit trail.').waitFor();
  assert.equal((await app.as(GRACE).sessions.current())?.roles.client_roles, {});
  await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('row', { name: 'Grace Hopper' }).getByText('Auditor').waitFor();
  assert.is(await isListed(), true);

  await openConsole(page, `/console/people/${GRACE}`, ACME);
  await page.getByRole('button', { name: 'Roles in Acme Analytics' }).click();
  await auditor.uncheck();
  await page.getByText('No longer:').waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-roles-dialog');
  await save.click();
  await page.getByText(`Changed the roles of ${GRACE}.`).waitFor();
  assert.is(await isListed(), false);
});

roles.run();
