import * as assert from 'uvu/assert';
import { kindsOf, SCREENS } from '../../console/src/session/screens.ts';
import { browserSuite, logIn, REFUSED, type TestBrowser } from '../support/browser.ts';
import { hearNothing } from '../support/console.ts';
import { fillLists } from '../support/every-read.ts';
import { checkLayers, checkScreen, type Settle, watchRequests } from '../support/screens.ts';
import { ACME, ADA, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

type Path = (typeof SCREENS)[number]['to'];

const screens = browserSuite('the screens of the console', REFUSED);

/** Buttons that open a dialog, but whose labels have no `…`: their names up to ` for`, ` of` or a colon. */
const DIALOGS = [
  ...['New app', 'New client', 'New group', 'New service account', 'New share link', 'New webhook'],
  ...['Add an admin', 'Deny Churn', 'Details of', 'Edit', 'Give a role'],
  ...['Grant an app', 'Link', 'Log out everywhere', 'Rotate', 'See as Ada', 'Uses', 'Why? Sales'],
];

/** What is shown where the path names something. */
const addressOf = async (app: TestApp, path: Path): Promise<string> => {
  const admin = app.as(ACME);
  switch (path) {
    case '/people/$email':
      return `/people/${ADA}`;
    case '/apps/$id':
      return `/apps/${SALES}`;
    case '/apps/$id/compare':
      return `/apps/${SALES}/compare?one=${ADA}&other=${GRACE}`;
    case '/clients/$id':
      return '/clients/1';
    case '/groups/$client/$group':
      return `/groups/1/${(await admin.groups.list({ id: 1 }))[0]?.id}`;
    case '/mails/$id':
      return `/mails/${(await admin.mail.list({}))[0]?.id}`;
    case '/webhooks/$id':
      return `/webhooks/${(await admin.webhooks.list({}))[0]?.id}`;
    case '/service-accounts/$id':
      return `/service-accounts/${(await admin.serviceAccounts.list({}))[0]?.id}`;
    default:
      return path;
  }
};

/** The kinds of buttons that were pressed, by screen: they open the same for each user. */
const pressed = new Map(SCREENS.map(({ to }) => [to, new Set<string>()]));

screens.before(({ app }) => fillLists(app));

for (const [email, kind] of [
  [ROOT, 'superusers'],
  [ACME, 'client admins'],
] as const) {
  let shared: { visit: Awaited<ReturnType<TestBrowser['open']>>; settle: Settle } | undefined;
  const start = async (browser: TestBrowser) => {
    const visit = await browser.open(REFUSED);
    const settle = watchRequests(visit.page);
    await hearNothing(visit.page);
    await logIn(visit.page, email);
    return { visit, settle };
  };

  for (const { to, label } of SCREENS.filter((screen) => kindsOf(screen).includes(kind)))
    screens.withoutPage(`${kind} can read ${label}, its menus and its dialogs`, async ({ app, browser }) => {
      shared ??= await start(browser);
      const { visit, settle } = shared;
      const { page } = visit;
      const faults: string[] = [];
      const known = pressed.get(to) ?? new Set();
      const screen = {
        dialogs: DIALOGS,
        known,
        report: (place: string, found: string[]) =>
          faults.push(...found.map((fault) => `${place}: ${fault}`)),
      };
      const url = new URL(`/console${await addressOf(app, to)}`, 'http://localhost:8000');
      url.searchParams.set('client', '1');
      await page.goto(url.href);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await settle();
      const tabs = page.locator('main').getByRole('tablist').first().getByRole('tab');
      const count = await tabs.count();
      for (let index = 0; index < Math.max(count, 1); index += 1) {
        const tab = tabs.nth(index);
        if (count > 0) await tab.press('Enter');
        await settle();
        const place = count > 0 ? `${label}, ${await tab.innerText()}` : label;
        await checkScreen(page, settle, { ...screen, place });
        await checkLayers(page, settle, { ...screen, place });
      }
      visit.check();
      assert.equal(faults, []);
    });
}

screens.withoutPage('every dialog was opened', async () => {
  const kinds = [...pressed.values()].flatMap((known) => [...known]);
  assert.equal(
    DIALOGS.filter((name) => !kinds.some((kind) => kind.endsWith(name))),
    [],
  );
});

screens.run();
