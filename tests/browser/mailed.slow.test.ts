import type { Browser } from 'playwright-core';
import * as assert from 'uvu/assert';
import { launchChromium, openTab, waitForHeading } from '../support/browser.ts';
import { makeDemoDir } from '../support/demo-data.ts';
import { type Service, startService } from '../support/service-process.ts';
import { parseMail, startSmtpServer, type TestSmtpServer } from '../support/smtp-server.ts';
import { suite } from '../support/suite.ts';
import { DEMO_PASSWORD } from '../support/test-app.ts';
import { until } from '../support/time.ts';

type Context = { service: Service; smtp: TestSmtpServer; browser: Browser; closing: AsyncDisposableStack };

/** End to end: a service process, an SMTP server and Chromium. */
const mailed = suite<Context>('mailed links in Chromium');

mailed.before(async (context) => {
  context.closing = new AsyncDisposableStack();
  const folder = context.closing.use(await makeDemoDir());
  context.smtp = await startSmtpServer();
  context.closing.defer(context.smtp.close);
  const settings = { DATA_DIR: folder.path, SMTP_URL: context.smtp.url, MAIL_FROM: 'steward@acme.test' };
  context.service = context.closing.use(await startService('demo', settings));
  context.browser = await launchChromium();
  context.closing.defer(() => context.browser.close());
});

mailed.after(({ closing }) => closing.disposeAsync());

/** Waits for the newest mail to an address. */
const mailTo = async (smtp: TestSmtpServer, address: string) => {
  const found = () => smtp.taken.findLast(({ to }) => to.includes(address));
  await until(`a mail to ${address}`, () => found() !== undefined);
  const mail = found();
  if (!mail) throw new Error(`The mail to ${address} has disappeared.`);
  return { ...(await parseMail(mail)), to: mail.to };
};

const linkIn = (text = ''): string => /http:\/\/\S+/.exec(text)?.[0] ?? '';

mailed('a mailed invitation creates a user with the chosen password', async ({ service, smtp, browser }) => {
  const email = 'mary@new.test';
  const password = 'violet-harbor-92-kite';
  const { token } = await service.logIn('admin@acme.test', DEMO_PASSWORD);
  const invited = await service.send('POST /jb/clients/1/users/invitations/', {
    token,
    body: { email, initial_apps: ['zylTKNVx'] },
  });
  assert.is(invited.status, 200);

  const mail = await mailTo(smtp, email);
  const headers = new Map(mail.headers.map(({ key, value }) => [key, value]));
  assert.is(mail.subject, "You've been invited to Acme Analytics");
  assert.equal(mail.to, [email]);
  assert.match(headers.get('content-type') ?? '', /^multipart\/alternative/);
  assert.is(headers.get('auto-submitted'), 'auto-generated');
  assert.match(headers.get('message-id') ?? '', /^<\S+@acme\.test>$/);
  assert.match(mail.text ?? '', /Sales/);
  assert.match(mail.html ?? '', /Sales/);

  const link = linkIn(mail.text);
  const page = await openTab(browser);
  await page.goto(link);
  await page.getByLabel('First name').fill('Mary');
  await page.getByLabel('Choose a password').fill(password);
  await page.getByRole('button', { name: 'Accept and log in' }).click();
  await waitForHeading(page, 'Hello Mary');

  const own = await service.logIn(email, password);
  const apps = await service.send('GET /jb/apps/', { token: own.token });
  const second = await openTab(browser);
  await second.goto(link);

  assert.is(apps.json[0].slug, 'sales');
  await waitForHeading(second, 'Invitation already accepted');
});

mailed.run();
