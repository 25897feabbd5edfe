import type { Server } from 'node:http';
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { createPageServer } from '../../docs/examples/react/serve.ts';
import { browserSuite } from '../support/browser.ts';
import { testLooks } from '../support/looks.ts';
import { CLIENT_SOURCE } from '../support/steward-from-sources.ts';
import { ACME, DEMO_PASSWORD } from '../support/test-app.ts';

const example = browserSuite('the React page of the examples');

let server: Server;
let address = '';

example.before(async ({ app }) => {
  const alias = { 'steward/client': CLIENT_SOURCE };
  server = await createPageServer({ steward: app.server.listeningOrigin, alias });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const bound = server.address();
  address = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}/`;
});
example.after(() => {
  server.closeAllConnections();
  server.close();
});

const logIn = async (page: Page, password = DEMO_PASSWORD): Promise<void> => {
  await page.goto(address);
  await page.getByLabel('Email address').fill(ACME);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
};

/** Chromium's console tells of every refusal, which here is part of the story. */
const expectRefusals = (page: Page): void => {
  page.removeAllListeners('console');
};

example('logs in by a session, adds somebody, and logs out', async ({ app, browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  expectRefusals(page);
  await logIn(page, 'wrong');
  await page.getByText('Unable to log in with provided credentials.').waitFor();
  await logIn(page);
  await page.getByText('ada@acme.test').waitFor();

  await page.getByLabel('First name').fill('Rosa');
  await page.getByLabel('Email address').fill('rosa@acme.test');
  await page.getByRole('button', { name: 'Add' }).click();
  await page.getByText('rosa@acme.test was added.').waitFor();
  await page.getByRole('listitem').filter({ hasText: 'rosa@acme.test' }).waitFor();
  assert.is((await app.as(ACME).users.get({ email: 'rosa@acme.test' })).first_name, 'Rosa');

  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  assert.not.ok((await visit.cookies()).includes('steward_session'));
});

example('goes on after a reload, and shows faults at their fields', async ({ browser }) => {
  await using visit = await browser.open();
  const { page } = visit;
  expectRefusals(page);
  await logIn(page);
  await page.getByText('ada@acme.test').waitFor();
  await page.reload();

  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Email address').fill('ada@acme.test');
  await page.getByRole('button', { name: 'Add' }).click();

  const field = page.getByLabel('Email address');
  await page.getByRole('alert').waitFor();
  assert.is(await field.getAttribute('aria-invalid'), 'true');
  assert.match((await page.locator('form').textContent()) ?? '', 'already exists');
});

testLooks(example, {
  'example-login': async (page) => {
    expectRefusals(page);
    await page.goto(address);
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
  },
  'example-people': async (page) => {
    expectRefusals(page);
    await logIn(page);
    await page.getByText('ada@acme.test').waitFor();
  },
});

example.run();
