import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { OPENID_CLAIMS } from '../../src/services/openid/openid-apps.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, GLOBEX, ROOT, STAFF, type TestApp } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const CALLBACK = 'https://sales.acme.test/callback';
const settings = { app_id: SALES, redirect_uris: [CALLBACK] };

type Settings = Parameters<ReturnType<TestApp['as']>['openid']['update']>[0];

const openid = appSuite('the OpenID settings of an app');

openid('have safe defaults, and are those of the last change', async ({ app }) => {
  await rejectsWith(app.as(ACME).openid.get({ app_id: SALES }), 'not-found');

  const { created_at, ...created } = await app.as(ACME).openid.update(settings);
  const changed = await app.as(ACME).openid.update({ ...settings, claims: ['email'], is_pairwise: true });

  assert.equal(created_at, app.clock.now());
  assert.equal(created, {
    client_id: SALES,
    issuer: 'http://localhost:8000',
    redirect_uris: [CALLBACK],
    post_logout_redirect_uris: [],
    backchannel_logout_uri: '',
    is_public: false,
    requires_pkce: true,
    claims: [...OPENID_CLAIMS],
    is_pairwise: false,
    signing_algorithm: 'RS256',
    has_secret: false,
    previous_until: null,
  });
  assert.equal([changed.claims, changed.is_pairwise], [['email'], true]);
  assert.equal(await app.as(ACME).openid.get({ app_id: SALES }), changed);
});

openid('have a secret that is shown once, and the one before for a day', async ({ app }) => {
  await app.as(ACME).openid.update(settings);

  const first = await app.as(ACME).openid.addSecret({ app_id: SALES });
  const second = await app.as(ACME).openid.addSecret({ app_id: SALES });
  const during = await app.as(ACME).openid.get({ app_id: SALES });
  app.clock.advance(DAY_MS);
  const after = await app.as(ACME).openid.get({ app_id: SALES });

  assert.match(first.secret, /^[\w-]{43}$/);
  assert.is(first.previous_until, null);
  assert.is.not(second.secret, first.secret);
  assert.equal([during.has_secret, during.previous_until], [true, second.previous_until]);
  assert.equal([after.has_secret, after.previous_until], [true, null]);
  assert.not(JSON.stringify(during).includes(second.secret));
});

openid('of a public app lose their secret, and get none', async ({ app }) => {
  const changed = await app.as(ACME).openid.update({ ...settings, is_public: true, requires_pkce: false });

  assert.equal([changed.has_secret, changed.requires_pkce], [false, true]);
  const problem = await rejectsWith(app.as(ACME).openid.addSecret({ app_id: SALES }), 'invalid-input');
  assert.equal(Object.keys(problem.fields ?? {}), ['is_public']);
});

const REFUSED: Record<string, [field: string, input: Partial<Settings>]> = {
  'no address': ['redirect_uris', { redirect_uris: [] }],
  'a relative address': ['redirect_uris.0', { redirect_uris: ['/callback'] }],
  'an address with a fragment': ['redirect_uris.0', { redirect_uris: [`${CALLBACK}#x`] }],
  'an address with a user name': ['redirect_uris.0', { redirect_uris: ['https://a@sales.acme.test/'] }],
  'an address that runs in the browser': ['redirect_uris.0', { redirect_uris: ['javascript:alert(1)'] }],
  'a scheme of its own for an app with a secret': [
    'redirect_uris',
    { redirect_uris: ['com.acme.sales:/cb'] },
  ],
  'a scheme of its own beside http:// of another machine': [
    'redirect_uris',
    { redirect_uris: ['com.acme.sales:/cb', 'http://sales.acme.test/cb'], is_public: true },
  ],
  'a scheme of its own for the page after a logout': [
    'redirect_uris',
    { post_logout_redirect_uris: ['com.acme.sales:/bye'] },
  ],
  'pairwise subjects on two hosts': [
    'redirect_uris',
    { redirect_uris: [CALLBACK, 'https://other.acme.test/'], is_pairwise: true },
  ],
  'a back-channel address that is no web address': [
    'backchannel_logout_uri',
    { backchannel_logout_uri: 'com.acme.sales:/logout' },
  ],
  'an unknown claim': ['claims.0', { claims: ['password'] as never }],
};

for (const [what, [field, input]] of Object.entries(REFUSED))
  openid(`refuse ${what}`, async ({ app }) => {
    const problem = await rejectsWith(app.as(ACME).openid.update({ ...settings, ...input }), 'invalid-input');

    assert.equal(Object.keys(problem.fields ?? {}), [field]);
  });

openid('belong to the client of the app', async ({ app }) => {
  await app.as(ACME).openid.update(settings);

  for (const email of [GLOBEX, ADA]) {
    await rejectsWith(app.as(email).openid.get({ app_id: SALES }), email === ADA ? 'forbidden' : 'not-found');
    const change = app.as(email).openid.update(settings);
    await rejectsWith(change, email === ADA ? 'forbidden' : 'not-found');
  }
  assert.is((await app.as(STAFF).openid.get({ app_id: SALES })).client_id, SALES);
  await rejectsWith(app.as(STAFF).openid.update(settings), 'forbidden');
});

openid('are recorded in the audit trail, without secrets', async ({ app }) => {
  await app.as(ACME).openid.update(settings);
  await app.as(ACME).openid.update({ ...settings, backchannel_logout_uri: `${CALLBACK}/logout` });
  const { secret } = await app.as(ACME).openid.addSecret({ app_id: SALES });
  await app.as(ACME).openid.remove({ app_id: SALES });

  const entries = await app.as(ROOT).audit.list({ target: 'sales', limit: 4 });

  assert.equal(
    entries.map(({ action }) => action),
    ['app.remove-openid', 'app.add-openid-secret', 'app.set-openid', 'app.set-openid'],
  );
  assert.not(JSON.stringify(entries).includes(secret));
  await rejectsWith(app.as(ACME).openid.get({ app_id: SALES }), 'not-found');
});

openid.run();

const guarded = appSuite('the OpenID settings of an app', { WEBHOOK_PRIVATE_NETWORKS: '' });

guarded('refuse a back-channel address in a private network', async ({ app }) => {
  for (const uri of [
    'https://127.0.0.1/logout',
    'https://10.0.0.1/logout',
    'http://sales.acme.test/logout',
  ]) {
    const change = app.as(ACME).openid.update({ ...settings, backchannel_logout_uri: uri });
    const problem = await rejectsWith(change, 'invalid-input');

    assert.equal(Object.keys(problem.fields ?? {}), ['backchannel_logout_uri'], uri);
  }
});

guarded.run();
