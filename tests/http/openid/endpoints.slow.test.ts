import * as assert from 'uvu/assert';
import { registerApp } from '../../support/openid.ts';
import { appSuite } from '../../support/test-app.ts';

const endpoints = appSuite('OpenID Connect');

endpoints('does not exist in an installation whose apps do not use it', async ({ app }) => {
  for (const path of [
    '/.well-known/openid-configuration',
    '/oidc/jwks',
    '/oidc/authorize?client_id=zylTKNVx',
  ])
    assert.is((await app.server.inject(path)).statusCode, 404, path);
});

endpoints(
  'takes the addresses of its endpoints from BASE_URL, not from the headers of the request',
  async ({ app }) => {
    await registerApp(app);

    const metadata = await app.server.inject({
      url: '/.well-known/openid-configuration',
      headers: { host: 'evil.test', 'x-forwarded-host': 'evil.test', 'x-forwarded-proto': 'https' },
    });

    const { issuer, token_endpoint, jwks_uri, ...others } = metadata.json();
    assert.is(issuer, 'http://localhost:8000');
    assert.is(token_endpoint, 'http://localhost:8000/oidc/token');
    assert.is(jwks_uri, 'http://localhost:8000/oidc/jwks');
    assert.equal(others.response_types_supported, ['code']);
    assert.not('registration_endpoint' in others);
    assert.not(JSON.stringify(others).includes('evil'));
  },
);

endpoints('accepts an authorization request as a form, and continues with its query', async ({ app }) => {
  const sales = await registerApp(app);
  const [path, query = ''] = sales.authorizationPath().split('?');

  const response = await app.server.inject({
    method: 'POST',
    url: path ?? '',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://sales.acme.test' },
    payload: query,
  });

  assert.equal([response.statusCode, response.headers.location], [303, `/oidc/authorize?${query}`]);
});

endpoints.run();
