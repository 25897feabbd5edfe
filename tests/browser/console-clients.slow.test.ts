import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { openConsole, showing } from '../support/console.ts';
import { mailTo } from '../support/mails.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME, ROOT } from '../support/test-app.ts';

const clients = browserSuite('clients in the console');

testAppearance(clients, {
  'console-clients': showing('/console/clients', 'Clients', ROOT),
  'console-client': showing('/console/clients/1', 'Acme Analytics', ROOT),
});

clients('a client admin changes texts, and the preview shows them before', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/clients/1', ACME);
  await page.getByLabel('Title of the login page').fill('Welcome aboard');
  await page
    .getByRole('region', { name: 'Preview of the login page' })
    .getByRole('heading', { name: 'Welcome aboard' })
    .waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').waitFor();

  const client = (await app.send('GET /jb/clients/1/', { as: ACME })).json();
  assert.is(client.login_title, 'Welcome aboard');
});

clients('the preview of the invitation is the mail that is sent', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/clients/1', ACME);
  const preview = page.getByRole('region', { name: 'Preview of the invitation mail' });
  await preview.getByText("You've been invited to Acme Analytics").waitFor();
  await page.getByLabel('Subject of invitations').fill('Come in');
  await page.getByLabel('Text of invitations').fill('Ask <b>Ada</b>.');
  await preview.getByText('Come in').waitFor();
  const mail = preview.frameLocator('iframe');
  // Texts are no HTML in mails.
  await mail.getByText('Ask <b>Ada</b>.').waitFor();

  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').waitFor();
  const shown = await preview.locator('iframe').getAttribute('srcdoc');
  const { email } = await app.as(ACME).clients.invite({ id: 1, email: 'new@acme.test' });
  const sent = await app.as(ACME).mail.get({ id: (await mailTo(app, email)).id });
  const paragraphs = (html = '') => html.match(/<p style="margin:0 0 16px">[^<]*<\/p>/g);
  assert.equal(paragraphs(shown ?? ''), paragraphs(sent.html));
});

clients('an invalid value is reported at its field, and nothing is saved', async ({ app, browser }) => {
  await using visit = await browser.open(/status of 400/);
  const { page } = visit;
  await openConsole(page, '/console/clients/1', ACME);
  const before = (await app.send('GET /jb/clients/1/', { as: ACME })).json();
  await page.getByLabel('Support address').fill('nobody');
  await page.getByRole('button', { name: 'Save', exact: true }).click();

  await page.getByText('Must be an email address or empty.').waitFor();
  await page.locator('[aria-invalid=true]').waitFor();
  assert.equal((await app.send('GET /jb/clients/1/', { as: ACME })).json(), before);
});

clients('the expiry of passwords says who would be affected', async ({ app, browser }) => {
  await sql`update users set last_password_set = last_password_set - interval '10 days'
    where email = 'ada@acme.test'`.execute(app.db());
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/clients/1', ACME);
  await page.getByRole('tab', { name: 'Passwords' }).click();
  await page.getByLabel('Passwords expire after').fill('1');

  await page
    .getByText('One person would get a mail and have to renew their password within seven days')
    .waitFor();
  await page.getByRole('link', { name: 'ada@acme.test' }).waitFor();
});

clients('a superuser creates a client and appoints an admin', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/clients', ROOT);
  await page.getByRole('button', { name: 'New client' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Initech');
  await page.getByRole('textbox', { name: 'Domain' }).fill('initech.example.com');
  await page.getByRole('button', { name: 'Create' }).click();
  await waitForHeading(page, 'Initech');

  await page.goto('/console/clients/1');
  await page.getByRole('tab', { name: 'Admins' }).click();
  await page.getByLabel('Email address of a member').fill('grace@acme.test');
  await page.getByRole('button', { name: 'Make admin' }).click();
  await page.getByRole('link', { name: 'Grace Hopper' }).waitFor();
  const grace = (await app.send('GET /jb/users/grace@acme.test/', { as: ROOT })).json();
  assert.equal(grace.clientadmin_of, [1]);
});

clients('the tab is part of the address', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  await openConsole(page, '/console/clients/1', ACME);
  await page.getByRole('tab', { name: 'Admins' }).click();
  await page.waitForURL('**/console/clients/1?tab=admins');
  await page.reload();

  await page.getByText('Only superusers appoint them.').waitFor();
  assert.is(await page.getByRole('tab', { name: 'Admins' }).getAttribute('aria-selected'), 'true');
});

clients.run();
