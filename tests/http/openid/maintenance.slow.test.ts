import * as assert from 'uvu/assert';
import { registerApp, visitorOf } from '../../support/openid.ts';
import { ACME, appSuite, type TestApp } from '../../support/test-app.ts';
import { SALES } from '../../support/usage.ts';

const maintenance = appSuite('a login by OpenID Connect while its app is in maintenance');

const setMaintenance = (app: TestApp, in_maintenance: boolean) =>
  app.as(ACME).apps.update({ app_id: SALES, in_maintenance });

maintenance(
  'gets no tokens, and continues afterwards with the same code and refresh token',
  async ({ app }) => {
    const sales = await registerApp(app);
    const ada = await visitorOf(app);
    const { refresh_token: token = '' } = await sales.logIn(ada);
    const { location = '' } = await ada.get(sales.authorizationPath());
    const code = new URL(location).searchParams.get('code') ?? '';

    await setMaintenance(app, true);
    const refused = [await sales.exchange(code), await sales.refresh(token)];
    await setMaintenance(app, false);
    const allowed = [await sales.exchange(code), await sales.refresh(token)];

    assert.equal(
      refused.map(({ json }) => json.error),
      ['temporarily_unavailable', 'temporarily_unavailable'],
    );
    assert.equal(
      allowed.map(({ status }) => status),
      [200, 200],
    );
  },
);

maintenance.run();
