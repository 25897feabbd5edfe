import { sql } from 'kysely';
import type { Page, Request } from 'playwright-core';
import * as assert from 'uvu/assert';
import { KINDS, type Roles } from '../../console/src/session/roles.ts';
import { kindsOf, SCREENS } from '../../console/src/session/screens.ts';
import { GLOBAL_ROLES } from '../../src/services/access/permissions.ts';
import { browserSuite, waitForHeading } from '../support/browser.ts';
import { goTo, openConsole, waitForData } from '../support/console.ts';
import { invite, mailTo } from '../support/mails.ts';
import { ACME, ADA, GLOBEX, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { FLEET, SALES } from '../support/usage.ts';

const roles = browserSuite('screens of the console');

/** A member of the first client who has these roles, and the password of the demo. */
const addUser = async (app: TestApp, kind: string, held: Roles): Promise<string> => {
  const email = `${kind.replaceAll(' ', '-')}@acme.test`;
  await app.as(ROOT).users.create({ email, client: 1, apps: [SALES], send_email: false });
  const inAll = GLOBAL_ROLES.map(({ column }) => sql`${sql.ref(column)} = ${held[column]}`);
  await sql`
    update users set password_hash = (select password_hash from users where email = ${ADA}), ${sql.join(inAll)}
    where email = ${email}`.execute(app.db());
  await sql`
    update memberships set is_admin = ${held.admin_of.includes(1)}, roles = ${[...(held.client_roles[1] ?? [])]}
    from users
    where users.id = user_id and email = ${email}`.execute(app.db());
  return email;
};

/** What the parameters of paths stand for. */
const parametersOf = async (app: TestApp): Promise<Record<string, string | number>> => {
  const [email = ''] = await invite(app, 1);
  const { id } = await mailTo(app, email);
  const webhook = await app.as(ACME).webhooks.create({ url: 'https://hooks.acme.test/', client: 1 });
  const account = await app.as(ACME).serviceAccounts.create({ name: `For ${email}`, client: 1 });
  const group = await app.as(ACME).groups.create({ id: 1, name: `Team of ${email}` });
  return {
    '/people/$email': ADA,
    '/apps/$id': SALES,
    '/apps/$id/compare': SALES,
    '/clients/$id': 1,
    '/groups/$client/$group': `1/${group.id}`,
    '/mails/$id': id,
    '/webhooks/$id': webhook.id,
    '/service-accounts/$id': account.id,
  };
};

/** Those of screens: what listens to events is the same on each. */
const isCall = (address: string): boolean => /\/trpc\/(?!events\.)/.test(address);

/** Watches the requests of a page. */
const watch = (page: Page) => {
  const foreign: string[] = [];
  let calls: string[] = [];
  let answered: Request[] = [];
  let waiting = 0;
  page.on('request', (request) => {
    const { origin, protocol, pathname } = new URL(request.url());
    if (protocol.startsWith('http') && origin !== 'http://localhost:8000') foreign.push(request.url());
    if (!isCall(request.url())) return;
    calls.push(...(pathname.split('/').at(-1) ?? '').split(','));
    waiting += 1;
  });
  page.on('requestfinished', (request) => {
    if (!isCall(request.url())) return;
    answered.push(request);
    waiting -= 1;
  });
  // The console aborts what a newer call replaces.
  page.on('requestfailed', (request) => {
    if (isCall(request.url())) waiting -= 1;
  });
  return {
    foreign,
    /** The calls since the last time, after each was answered without an error, or aborted. */
    takeCalls: async (): Promise<string[]> => {
      await until('no call waits for its answer', () => waiting === 0);
      const [taken, done] = [calls, answered];
      [calls, answered] = [[], []];
      // The status of a batch does not show whether one of its calls was refused.
      for (const request of done)
        assert.not.match((await (await request.response())?.text()) ?? '', /"error":\{/, request.url());
      return taken;
    },
  };
};

for (const [kind, held] of KINDS) {
  roles(`${kind} see their screens, and no other sends a request`, async ({ app, page }) => {
    const parameters = await parametersOf(app);
    const email = await addUser(app, kind, held);
    const { takeCalls, foreign } = watch(page);
    await openConsole(page, '/console/account', email);
    await waitForHeading(page, 'Account');
    await waitForData(page);
    // An event may make the screen before repeat its calls.
    const seen = new Set(await takeCalls());
    for (const screen of SCREENS) {
      const path = screen.to.replace(/\$\w+(\/\$\w+)?/, String(parameters[screen.to]));
      await goTo(page, `/console${path}`);
      const calls = await takeCalls();
      const refusals = await page.getByRole('alert').allInnerTexts();
      if (kindsOf(screen).includes(kind)) {
        assert.equal(refusals, [], path);
        for (const call of calls) seen.add(call);
      } else {
        assert.match(refusals.join(), 'This screen is for', path);
        assert.equal(
          calls.filter((call) => !seen.has(call)),
          [],
          path,
        );
      }
    }
    assert.equal(foreign, []);
  });
}

const CHANGES =
  /^(Save|Grant an app|Change |New share link|Revoke|Retry now|Resend|Actions for|Log out everywhere)/;

roles('staff who administer one client are offered no changes of others', async ({ app, page }) => {
  await app.as(ROOT).roles.update({ email: GRACE, is_staff: true });
  await app.as(ROOT).roles.setClientAdmin({ id: 1, email: GRACE, is_admin: true });
  await app.as(GLOBEX).clients.invite({ id: 2, email: 'new@globex.test' });
  await invite(app, 1);
  await openConsole(page, '/console/account', GRACE);
  await waitForHeading(page, 'Account');
  const offered = async (path: string): Promise<number> => {
    await goTo(page, path);
    return page.locator('main').getByRole('button', { name: CHANGES }).count();
  };
  assert.ok((await offered(`/console/apps/${SALES}?tab=settings`)) > 0);
  assert.is(await offered(`/console/apps/${FLEET}`), 0);
  assert.is(await offered(`/console/apps/${SALES}?tab=links`), 1);
  assert.is(await offered(`/console/apps/${FLEET}?tab=links`), 0);
  assert.is(await offered('/console/people/edsger@globex.test'), 0);
  assert.is(await offered(`/console/mails/${(await mailTo(app, 'new@globex.test')).id}`), 0);
  assert.is(await offered('/console/invitations?client=2'), 0);

  await openConsole(page, `/console/people/${ACME}?tab=profile`, ROOT);
  await page.getByText('You cannot change this profile').waitFor();
  assert.is(await page.getByRole('button', { name: /^Save/ }).count(), 0, 'of a client admin');
});

roles.run();
