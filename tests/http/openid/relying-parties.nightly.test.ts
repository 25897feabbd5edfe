import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { launchChromium, openTab } from '../../support/browser.ts';
import { authJs } from '../../support/relying-parties/auth-js.ts';
import { authlib } from '../../support/relying-parties/authlib.ts';
import { lemonldap } from '../../support/relying-parties/lemonldap.ts';
import { modAuthOpenidc } from '../../support/relying-parties/mod-auth-openidc.ts';
import type { RelyingParty } from '../../support/relying-parties/relying-party.ts';
import { startSteward } from '../../support/relying-parties/steward-provider.ts';
import type { TestedProvider } from '../../support/relying-parties/tested-provider.ts';
import { suiteWith } from '../../support/suite.ts';
import { freePort } from '../../support/tcp.ts';
import { until } from '../../support/time.ts';

const APPS = [modAuthOpenidc, lemonldap, authlib, authJs];

/** Registers an app at the provider, and starts it. */
const startApp = async (started: AsyncDisposableStack, provider: TestedProvider, app: RelyingParty) => {
  // Another host than that of the provider, because cookies do not tell ports apart.
  const origin = `http://127.0.0.1:${await freePort()}`;
  const addresses = app.addressesAt(origin);
  const settings = await provider.register(app, addresses);
  started.use(await app.start(origin, settings));
  return { app, provider, origin, addresses };
};

type App = Awaited<ReturnType<typeof startApp>>;

const start = async (started: AsyncDisposableStack) => {
  const provider = started.use(await startSteward());
  const apps = new Map<string, App>();
  for (const app of APPS) apps.set(app.name, await startApp(started, provider, app));
  const browser = await launchChromium();
  started.defer(() => browser.close());
  const find = (name: string): App => {
    const app = apps.get(name);
    if (!app) throw new Error(`${name} is not started`);
    return app;
  };
  return { provider, browser, find };
};

/** Each test gets a page with a fresh profile. */
const startEach = async (started: AsyncDisposableStack, { browser }: Awaited<ReturnType<typeof start>>) => {
  const page = await openTab(browser);
  started.defer(() => page.context().close());
  return { page };
};

const apps = suiteWith('apps that log people in with Steward', start, startEach);

/** Opens the page of an app, which leads to the provider. */
const open = async ({ app, addresses }: App, page: Page): Promise<void> => {
  await page.goto(addresses.url);
  await app.requestLogin?.(page);
};

const openLogin = async (app: App, page: Page): Promise<void> => {
  await open(app, page);
  await app.provider.waitForLogin(page);
};

const waitForPerson = async ({ provider, origin }: App, page: Page): Promise<void> => {
  await page.waitForURL((url) => url.origin === origin);
  await page.getByText(provider.person.email).first().waitFor();
};

const logIn = async (app: App, page: Page): Promise<void> => {
  await openLogin(app, page);
  await app.provider.logIn(page);
  await waitForPerson(app, page);
};

/** The provider notifies the apps within seconds. */
const waitForLogout = async (app: App, page: Page): Promise<void> => {
  const { email } = app.provider.person;
  await until(`${app.app.name} has ended its session`, async () => {
    await page.goto(app.addresses.url);
    return !(await page.locator('body').innerText()).includes(email);
  });
  await openLogin(app, page);
};

for (const { name, addressesAt } of APPS) {
  const addresses = addressesAt('');
  apps(
    `${name} shows the name, address and groups of the person who logs in`,
    async ({ find, page, provider: { person } }) => {
      await logIn(find(name), page);

      const text = await page.locator('body').innerText();
      for (const claim of [person.name, person.email, ...person.groups]) assert.match(text, claim);
    },
  );

  if (addresses.refreshUrl !== null)
    apps(`${name} gets new access tokens for its refresh token`, async ({ find, page }) => {
      const app = find(name);
      await logIn(app, page);
      const refresh = async () => {
        await page.goto(app.addresses.refreshUrl ?? '');
        return JSON.parse(await page.locator('body').innerText());
      };

      const [one, another] = [await refresh(), await refresh()];

      assert.type(one.access_token, 'string');
      assert.is.not(one.access_token, another.access_token);
      await page.goto(app.addresses.url);
      await waitForPerson(app, page);
    });

  if (addresses.backchannelUri !== null)
    apps(
      `${name} asks for a login after the session of the provider has ended`,
      async ({ find, page, provider }) => {
        const app = find(name);
        await logIn(app, page);

        await provider.endSession();

        await waitForLogout(app, page);
      },
    );

  apps(`${name} also logs out of the provider, which leads back`, async ({ find, page, provider }) => {
    const app = find(name);
    await logIn(app, page);

    await page.goto(app.addresses.logoutUrl);
    await provider.confirmLogout(page);
    await page.waitForURL(app.addresses.postLogoutUri);

    await openLogin(app, page);
  });
}

apps('share the login of the provider, and end with its session', async ({ find, page, provider }) => {
  const [first, ...others] = APPS.map(({ name }) => find(name));
  assert.ok(first);
  await logIn(first, page);

  for (const app of others) {
    await open(app, page);
    await waitForPerson(app, page);
  }
  await provider.endSession();

  for (const app of [first, ...others].filter(({ addresses }) => addresses.backchannelUri !== null))
    await waitForLogout(app, page);
});

apps('end their sessions with what Steward ends access for', async ({ find, page, provider }) => {
  const notified = APPS.map(({ name }) => find(name)).filter(
    ({ addresses }) => addresses.backchannelUri !== null,
  );
  for (const [cause, { happen, undo }] of Object.entries(provider.causes)) {
    await page.context().clearCookies();
    const [first, ...others] = notified;
    assert.ok(first, cause);
    await logIn(first, page);
    for (const app of others) {
      await open(app, page);
      await waitForPerson(app, page);
    }

    await happen();

    for (const { app, addresses } of notified)
      await until(`${app.name} has ended its session when ${cause}`, async () => {
        await page.goto(addresses.url);
        return !(await page.locator('body').innerText()).includes(provider.person.email);
      });
    await undo();
  }
});

apps.run();
