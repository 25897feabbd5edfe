import * as assert from 'uvu/assert';
import { claimsOf, registerApp, visitorOf } from '../../support/openid.ts';
import { appSuite } from '../../support/test-app.ts';

const flow = appSuite('the code flow of OpenID Connect');

flow('logs a person in, and states who they are', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = await visitorOf(app);

  const tokens = await sales.logIn(visitor);
  const { json: info } = await sales.userInfo(tokens.access_token);
  console.log(tokens, claimsOf(tokens.id_token), info);
  console.log((await app.server.inject('/.well-known/openid-configuration')).json(), (await app.server.inject('/oidc/jwks')).json());
  const again = await sales.refresh(tokens.refresh_token ?? '');
  console.log(again.json, await sales.introspect(again.json.access_token));

  assert.is(info.email, 'ada@acme.testX');
});

flow.run();
