import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { browserSuite, REFUSED, waitForHeading } from '../support/browser.ts';
import { goTo, openConsole, waitForData } from '../support/console.ts';
import { openByPalette } from '../support/keyboard.ts';
import { mailTo } from '../support/mails.ts';
import { assertLooksGood } from '../support/screenshots.ts';
import { setFactorPolicy } from '../support/second-factors.ts';
import { ACME, ADA, ROOT, STAFF } from '../support/test-app.ts';

const clients = browserSuite('clients in the console', REFUSED);

const SIGN_IN = '/console/clients/1?tab=sign-in';

clients('a client admin changes texts, with previews of login page and mail', async ({ app, page }) => {
  await openConsole(page, '/console/clients/1?tab=texts', ACME);
  const save = page.getByRole('button', { name: 'Save', exact: true });
  const preview = page.getByRole('region', { name: 'Preview of the invitation mail' });
  await preview.getByText("You've been invited to Acme Analytics").waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-client');
  await page.getByLabel('Sender of mails').fill('nobody');
  await save.click();
  await page.getByText('Must be an email address, such as ops@acme.test').waitFor();
  await page.locator('[aria-invalid=true]').waitFor();
  await page.getByLabel('Sender of mails').fill('');
  await page.getByLabel('Title of the login page').fill('Welcome aboard');
  const loginPage = page.getByRole('region', { name: 'Preview of the login page' });
  await loginPage.getByRole('heading', { name: 'Welcome aboard' }).waitFor();
  await page.getByLabel('Subject of invitations').fill('Come in');
  await page.getByLabel('Text of invitations').fill('Ask <b>Ada</b>.');
  await preview.getByText('Come in').waitFor();
  // Texts are no HTML in mails.
  await preview.frameLocator('iframe').getByText('Ask <b>Ada</b>.').waitFor();
  await save.click();
  await page.getByText('Saved.').waitFor();
  assert.is((await app.as(ACME).clients.get({ id: 1 })).login_title, 'Welcome aboard');

  const shown = await preview.locator('iframe').getAttribute('srcdoc');
  const { email } = await app.as(ACME).clients.invite({ id: 1, email: 'new@acme.test' });
  const sent = await app.as(ACME).mail.get({ id: (await mailTo(app, email)).id });
  const paragraphs = (html = '') => html.match(/<p style="margin:0 0 16px">[^<]*<\/p>/g);
  assert.equal(paragraphs(shown ?? ''), paragraphs(sent.html), 'the preview is the mail that is sent');
});

clients('the expiry of passwords says who would be affected', async ({ app, page }) => {
  await sql`update users set last_password_set = last_password_set - interval '10 days'
  where email = ${ADA}`.execute(app.db());
  await openConsole(page, '/console/clients/1', ACME);
  await page.getByRole('tab', { name: 'Passwords' }).click();
  await page.getByLabel('Passwords expire after').fill('1');
  await page
    .getByText('One person would get a mail and have to change their password within seven days')
    .waitFor();
  await page.getByRole('link', { name: ADA }).waitFor();
  await page.getByLabel('Passwords expire after').fill('');
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('tab', { name: 'People & roles' }).click();
  await page.waitForURL('**/console/clients/1?tab=people');
  await page.goto('/console/clients/1?tab=roles');
  await page.getByRole('row', { name: 'Alex Acme' }).getByText('Client admin').waitFor();
  const tab = page.getByRole('tab', { name: 'People & roles' });
  assert.is(await tab.getAttribute('aria-selected'), 'true', 'links of earlier versions');
});

clients('a superuser creates a client and invites its first admin', async ({ app, page }) => {
  await openConsole(page, '/console/clients', ROOT);
  await page.getByRole('link', { name: 'Globex Data' }).waitFor();
  await assertLooksGood(page, 'console-clients');
  await openByPalette(page, 'new client');
  await page.getByRole('textbox', { name: 'Name' }).fill('Initech');
  await page.getByRole('textbox', { name: 'Domain' }).fill('initech.example.com');
  await page.getByRole('button', { name: 'Create' }).click();
  await waitForHeading(page, 'Initech');

  const notice = page.getByRole('note').filter({ hasText: 'Initech has no admin yet.' });
  await notice.getByRole('button', { name: 'Add an admin' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Email address').fill(ADA);
  await dialog.getByRole('button', { name: 'Continue' }).click();
  await dialog.getByText('Ada Lovelace is not in Initech yet. Invite as an admin?').waitFor();
  await waitForData(page);
  await assertLooksGood(page, 'console-first-admin');
  await dialog.getByRole('button', { name: 'Invite as an admin' }).click();
  await notice.getByText(`${ADA} is invited as an admin, and has not accepted yet.`).waitFor();
  await assertLooksGood(page, 'console-client-people');
  const [made] = await app.as(ROOT).invitations.search({ search: ADA });
  assert.equal([made?.roles, made?.status], [['client-admin'], 'pending']);
  await notice.getByRole('link', { name: 'Show the invitation' }).click();
  await page.getByRole('row').filter({ hasText: ADA }).waitFor();

  await goTo(page, '/console/clients');
  await page.getByRole('row', { name: 'Initech' }).getByRole('link', { name: 'No admin yet' }).waitFor();
  await goTo(page, '/console/clients/1?tab=people');
  await page.getByRole('button', { name: 'Add an admin' }).click();
  await dialog.getByLabel('Email address').fill('grace@acme.test');
  await dialog.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('link', { name: 'Grace Hopper' }).waitFor();
  const { clientadmin_of } = await app.as(ROOT).users.get({ email: 'grace@acme.test' });
  assert.equal(clientadmin_of, [1]);
});

clients('who sees one client gets its settings instead of a list', async ({ page }) => {
  await openConsole(page, '/console/', ACME);
  await page.getByRole('link', { name: 'Client settings' }).click();
  await page.waitForURL('**/console/clients/1');
  await waitForHeading(page, 'Acme Analytics');
  await page.goto('/console/clients');
  await page.waitForURL('**/console/clients/1');
});

clients('a client admin requires a second factor or a passkey after a preview', async ({ app, page }) => {
  const policy = () => app.as(ACME).clients.factorPolicy({ id: 1 });
  await openConsole(page, SIGN_IN, ACME);
  const save = page.getByRole('button', { name: 'Save', exact: true });
  const dialog = page.getByRole('dialog', { name: 'Require a second factor?' });
  await page.getByRole('radio', { name: 'Required', exact: true }).check();
  await waitForData(page);
  await assertLooksGood(page, 'console-client-sign-in');
  await page.getByLabel('Days of grace').fill('0');
  await save.click();
  await dialog.getByRole('button', { name: 'Require it' }).click();
  await page.getByText('You have no second factor yet').waitFor();
  await page.getByLabel('Days of grace').fill('7');
  await save.click();
  await dialog.getByText('No one is locked out').waitFor();
  await dialog.getByText('Those without one get a mail now, and a reminder.').waitFor();
  assert.is((await policy()).factor_policy, 'off');
  await dialog.getByRole('button', { name: 'Require it' }).click();
  await page.getByRole('status').getByText('You need a second factor from').waitFor();
  const saved = await policy();
  assert.equal([saved.factor_policy, saved.factor_grace_days], ['required', 7]);

  await page.getByRole('radio', { name: 'A passkey is required' }).check();
  await save.click();
  const passkey = page.getByRole('dialog', { name: 'Require a passkey?' });
  await passkey.getByText(/already have a passkey/).waitFor();
  await passkey.getByText('A passkey needs a browser with JavaScript').waitFor();
  await passkey.getByRole('button', { name: 'Require it' }).click();
  await page.getByRole('status').getByText('You need a passkey from').waitFor();
  assert.is((await policy()).factor_policy, 'passkey');

  await goTo(page, `/console/people/${ADA}?tab=security`);
  await page.getByText(/None\. A passkey is required from .* on\./).waitFor();
  await setFactorPolicy(app, 1, { policy: 'required', graceDays: 9 });
  await page.reload();
  await page.getByText(/None\. One is required from .* on\./).waitFor();
  await openConsole(page, SIGN_IN, STAFF);
  const form = page.getByRole('form', { name: 'Second factor' });
  await form.getByText('Only client admins and superusers can change this.').waitFor();
  assert.is(await form.getByRole('radio').count(), 0);
});

clients.run();
