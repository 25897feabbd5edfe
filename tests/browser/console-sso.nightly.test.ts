import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { browserSuite, logIn, REFUSED, waitForHeading } from '../support/browser.ts';
import { openConsole, showing, waitForData } from '../support/console.ts';
import { startIdentityProvider, type TestProvider } from '../support/identity-provider.ts';
import { setRows } from '../support/rows.ts';
import { testAppearance } from '../support/screenshots.ts';
import { ACME_ID } from '../support/sso.ts';
import { ACME, ROOT, type TestApp } from '../support/test-app.ts';

const sso = browserSuite('single sign-on in a browser', REFUSED);

const TAB = '/console/clients/1?tab=sign-in';
const EMAIL = 'browser@acme.test';
let provider: TestProvider;

sso.before(async ({ app }) => {
  provider = await startIdentityProvider(app.config.baseUrl);
  provider.people.set('browser', { email: EMAIL, email_verified: true, given_name: 'Bea' });
});
sso.after(() => provider.close());

const connectionsOf = (app: TestApp) => app.as(ROOT).sso.list({ id: ACME_ID });

sso('an admin sets a provider up, corrects what the checks find, and turns it on', async ({ app, page }) => {
  await openConsole(page, TAB, ACME);
  await page.getByRole('button', { name: 'Connect a provider' }).click();
  await page.getByRole('button', { name: 'Other provider' }).click();
  const uri = page.getByLabel('Redirect URI', { exact: true });
  const address = await uri.inputValue();
  assert.match(address, /\/sso\/\d+\/callback\/$/);
  await page.getByRole('button', { name: 'Continue later' }).click();
  await page.getByRole('button', { name: 'Connect a provider' }).click();
  await page.getByRole('button', { name: 'Other provider' }).click();
  assert.is(await uri.inputValue(), address, 'the same connection is taken up');
  await page.getByLabel('Issuer').fill(`${provider.issuer}/wrong`);
  await page.getByLabel('Client ID').fill(provider.clientId);
  await page.getByLabel('Client secret').fill('wrong');
  await page.getByLabel('Name on the login page').fill('Acme ID');
  await page.getByRole('button', { name: 'Save and check' }).click();
  await page.getByText('The service cannot read this provider. Check this value.').waitFor();
  await page.getByLabel('Issuer').fill(provider.issuer);
  await page.getByLabel('Client secret').fill('wrong');
  await page.getByRole('button', { name: 'Save and check' }).click();
  await page.getByRole('button', { name: 'Log in to test' }).waitFor();
  await page.getByRole('button', { name: 'Continue later' }).click();
  await page.getByText('Set-up not finished: test it.').waitFor();

  provider.state.subject = 'browser';
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  await page.getByRole('button', { name: 'Log in to test' }).click();
  await page.getByText('Check the client ID and the client secret.').waitFor();
  await page.getByRole('link', { name: 'Back to the settings' }).click();
  await page.getByRole('button', { name: 'Back', exact: true }).click();
  await page.getByLabel('Client secret').fill(provider.clientSecret);
  await page.getByRole('button', { name: 'Save and check' }).click();
  await page.getByRole('button', { name: 'Log in to test' }).click();
  await waitForHeading(page, 'Test of Acme ID');
  await page.getByText('Your email address is not in a domain').waitFor();
  await page.getByRole('link', { name: 'Back to the settings' }).click();
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByText('On', { exact: true }).waitFor();

  assert.is((await connectionsOf(app))[0]?.is_active, true);
});

sso('an admin adds a domain, and verifies it by its record', async ({ app, page }) => {
  await openConsole(page, TAB, ACME);
  await page.getByLabel('New domain').fill('acme.test');
  await page.getByRole('button', { name: 'Add domain' }).click();
  const value = page.getByLabel('Value of the record for acme.test');
  await page.getByRole('button', { name: 'Check now' }).click();
  await page.getByText('There is no TXT record _steward.acme.test yet.').waitFor();

  app.txtRecords.set('_steward.acme.test', [await value.inputValue()]);
  await page.getByRole('button', { name: 'Check now' }).click();
  await page.getByText('Verified, last checked on').waitFor();
});

sso('a member logs in by their address, at their provider', async ({ app, page }) => {
  await app.as(ACME).users.create({ email: EMAIL });
  await page.goto('/login/?next=/console/account');
  await page.getByLabel('Email address').fill(EMAIL);
  await page.getByRole('button', { name: 'Continue' }).click();
  await waitForHeading(page, 'Account');

  assert.is(new URL(page.url()).pathname, '/console/account');
  await waitForData(page);
});

sso('a member without a password confirms an action at the provider', async ({ app, page }) => {
  await page.goto('/login/?next=/console/account');
  await page.getByLabel('Email address').fill(EMAIL);
  await page.getByRole('button', { name: 'Continue' }).click();
  await waitForHeading(page, 'Account');
  await sql`update sessions set authenticated_at = 'epoch'`.execute(app.db());
  const create = async (): Promise<void> => {
    await page.getByLabel('Name of a new token').fill('Export');
    await page.getByRole('button', { name: 'Create token' }).click();
  };
  await create();
  const dialog = page.getByRole('dialog', { name: 'Confirm your login' });
  await Promise.all([
    page.waitForEvent('load'),
    dialog.getByRole('link', { name: 'Log in with Acme ID' }).click(),
  ]);
  await waitForHeading(page, 'Account');
  await waitForData(page);
  await create();

  await page.getByRole('textbox', { name: 'Token', exact: true }).waitFor();
});

sso('an admin sees at which provider a person logs in, and unlinks it', async ({ app, page }) => {
  await openConsole(page, `/console/people/${EMAIL}?tab=security`, ACME);
  await page.getByRole('button', { name: 'Unlink Acme ID' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click();
  await page.getByText('The account was unlinked.').waitFor();

  assert.equal(await app.as(ACME).users.identities({ email: EMAIL }), []);
});

sso('an admin turns a connection off after a confirmation', async ({ app, page }) => {
  await openConsole(page, TAB, ACME);
  await page.getByRole('button', { name: 'Actions for Acme ID' }).click();
  await page.getByRole('menuitem', { name: 'Turn off' }).click();
  await page.getByRole('dialog').getByText('Sessions that began with it end.').waitFor();
  assert.is((await connectionsOf(app))[0]?.is_active, true);
  await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click();
  await page.getByText('Off', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Turn on', exact: true }).click();
  await page.getByText('On', { exact: true }).waitFor();
});

testAppearance(sso, {
  'console-sign-in': async (page, app) => {
    const pending = await app.as(ROOT).domains.list({ id: ACME_ID });
    if (!pending.some(({ domain }) => domain === 'acme.example'))
      await app.as(ACME).domains.add({ id: ACME_ID, domain: 'acme.example' });
    await showing(TAB, 'Acme Analytics', ACME)(page, app);
    await page.getByLabel('Value of the record for acme.example').waitFor();
  },
  'console-connection': async (page, app) => {
    await showing(TAB, 'Acme Analytics', ACME)(page, app);
    await page.getByRole('button', { name: 'Actions for Acme ID' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Add a group' }).click();
    await page.getByRole('combobox', { name: 'Group 1 here' }).waitFor();
  },
  'console-set-up-provider': showing(`${TAB}#set-up`, 'Acme Analytics', ACME),
  'console-set-up-values': async (page, app) => {
    const { id } = await app.as(ACME).sso.create({ id: ACME_ID, name: 'Microsoft Entra ID' });
    await showing(`${TAB}#set-up-${id}`, 'Acme Analytics', ACME)(page, app);
    await page.getByLabel('Redirect URI', { exact: true }).waitFor();
  },
  'console-set-up-turn-on': async (page, app) => {
    const { id } = await app
      .as(ACME)
      .sso.create({ id: ACME_ID, name: 'Okta', issuer: 'https://acme.okta.com', client_id: 'steward' });
    await setRows(app, 'sso_connections', { id }, { tested_at: app.clock.now() });
    await showing(`${TAB}#set-up-${id}`, 'Acme Analytics', ACME)(page, app);
    await page.getByRole('button', { name: 'Turn on' }).waitFor();
  },
  'sso-test': async (page, app) => {
    const [connection] = await connectionsOf(app);
    await logIn(page, ACME);
    await page.goto(`/sso/${connection?.id}/start/?test=1`);
    await waitForHeading(page, 'Test of Acme ID');
  },
  'sso-failure': async (page, app) => {
    const [connection] = await connectionsOf(app);
    await page.goto(`/sso/${connection?.id}/callback/?state=made-up`);
    await waitForHeading(page, 'Single sign-on failed');
  },
  'sso-invitation': async (page, app) => {
    const items = [{ email: 'guest@acme.test', client: ACME_ID }];
    const [{ id = 0 } = {}] = await app.as(ACME).invitations.create({ items });
    const { url = '' } = await app.as(ACME).invitations.copyLink({ id });
    const { pathname, search } = new URL(url);
    await page.goto(pathname + search);
    await page.getByRole('link', { name: 'Continue with Acme ID' }).waitFor();
  },
  'login-address': async (page) => {
    await page.goto('/login/');
    await page.getByRole('button', { name: 'Continue' }).waitFor();
  },
});

sso.run();
