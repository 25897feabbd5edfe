import * as assert from 'uvu/assert';
import { AFTER_LOGOUT, registerApp, visitorOf } from '../../support/openid.ts';
import { appSuite } from '../../support/test-app.ts';
import { SALES } from '../../support/usage.ts';

const logout = appSuite('a logout that an app asks for by OpenID Connect');

logout('is immediate with an ID token of the person, and returns to the app', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = await visitorOf(app);
  const { id_token } = await sales.logIn(visitor);
  const query = new URLSearchParams({
    id_token_hint: id_token,
    post_logout_redirect_uri: AFTER_LOGOUT,
    state: 'bye',
  });

  const { location = '' } = await visitor.get(`/oidc/logout?${query}`);
  const { location: end = '' } = await visitor.get(location);

  assert.is(end, `${AFTER_LOGOUT}?state=bye`);
  assert.match((await visitor.get(sales.authorizationPath())).location ?? '', /^\/login\//);
});

logout('is confirmed by the person without one, and returns nowhere else', async ({ app }) => {
  const sales = await registerApp(app);
  const visitor = await visitorOf(app);
  const query = new URLSearchParams({ client_id: SALES, post_logout_redirect_uri: AFTER_LOGOUT });

  const page = await visitor.get(`/oidc/logout?${query}`);
  assert.match(page.text, 'Sales asks to log you out.');
  assert.match((await visitor.get(sales.authorizationPath())).location ?? '', /\?code=/);
  await visitor.get(`/oidc/logout?${query}`);
  const { location = '' } = await visitor.submit('/logout/');
  const back = await visitor.get(location);
  const evil = await visitor.get(
    `/oidc/logout?client_id=${SALES}&post_logout_redirect_uri=https%3A%2F%2Fevil.test`,
  );
  const bare = await visitor.get('/oidc/logout');

  assert.is(back.location, AFTER_LOGOUT);
  assert.equal([evil.status, evil.location], [400, undefined]);
  assert.equal([bare.status, bare.location], [200, undefined]);
  assert.match(bare.text, 'You are logged out');
});

logout.run();
