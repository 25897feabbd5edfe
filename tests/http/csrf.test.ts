import * as assert from 'uvu/assert';
import { createScript } from '../support/http-clients.ts';
import { ADA, appSuite, DEMO_PASSWORD, GRACE, ROOT, type TestApp } from '../support/test-app.ts';

const csrf = appSuite('csrf');

const PATH = '/hashr/saved_global_filters/';
let made = 0;
const post = (app: TestApp, as: string | undefined, header?: string, cookie?: string) => {
  made += 1;
  return app.send(`POST ${PATH}`, {
    ...(as && { as }),
    payload: { stack_id: 'a0a91e46', hash: `h${made}`, name: 'x' },
    headers: { 'x-csrftoken': header, cookie: cookie && `csrftoken=${cookie}` },
  });
};
const tokenFor = async (app: TestApp, as?: string, line = 'GET /csrf/') => {
  const response = await app.send(line, as ? { as } : {});
  return response.cookies.find(({ name }) => name === 'csrftoken')?.value ?? '';
};

csrf('GET /csrf/ and every GET under hashr set a token', async ({ app }) => {
  const response = await app.send('GET /csrf/', { as: ADA });
  const cookie = response.cookies[0];

  assert.is(response.json().csrf_token, cookie?.value);
  assert.is(cookie?.sameSite, 'Lax');
  assert.ok(await tokenFor(app, ADA, `GET ${PATH}`));
});

csrf('accepts the token of the same credential repeatedly', async ({ app }) => {
  const token = await tokenFor(app, ADA);

  assert.is((await post(app, ADA, token, token)).statusCode, 201);
  assert.is((await post(app, ADA, token, token)).statusCode, 201);
});

csrf('answers a missing, wrong or foreign token with 403', async ({ app }) => {
  const ada = await tokenFor(app, ADA);
  const grace = await tokenFor(app, GRACE);
  const anonymous = await tokenFor(app);
  const tampered = ada.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  const pairs: [string | undefined, string | undefined][] = [
    [undefined, undefined],
    [ada, undefined],
    [undefined, ada],
    [ada, grace],
    [grace, grace],
    [anonymous, anonymous],
    [tampered, tampered],
    ['x', 'x'],
    ['.', '.'],
    ['', ''],
    [`${ada}.x`, `${ada}.x`],
    [`a.${'é'.repeat(64)}`, `a.${'é'.repeat(64)}`],
  ];
  for (const [header, cookie] of pairs) {
    const response = await post(app, ADA, header, cookie);
    assert.is(response.statusCode, 403, `${header} ${cookie}`);
    assert.is(response.json().type, 'urn:steward:problem:csrf-failed');
  }
});

csrf('answers 401 before it checks the token', async ({ app }) => {
  const token = await tokenFor(app);

  assert.is((await post(app, undefined, token, token)).statusCode, 401);
});

csrf('does not apply to PUT and DELETE with an API token', async ({ app }) => {
  const payload = { stack_id: 'a0a91e46', hash: 'put', name: 'x' };
  await app.as(ADA).savedFilters.create(payload);

  assert.is((await app.send(`PUT ${PATH}put/`, { as: ADA, payload })).statusCode, 204);
  assert.is((await app.send(`DELETE ${PATH}put/`, { as: ADA })).statusCode, 204);
});

csrf('keeps a valid token and replaces one of another credential', async ({ app }) => {
  const token = await tokenFor(app, ADA);
  const again = (as: string) => app.send('GET /csrf/', { as, headers: { cookie: `csrftoken=${token}` } });

  assert.is((await again(ADA)).json().csrf_token, token);
  assert.is.not((await again(GRACE)).json().csrf_token, token);
});

csrf('treats a malformed cookie as a missing token', async ({ app }) => {
  for (const cookie of [`csrftoken=a.${'é'.repeat(64)}`, 'csrftoken=%', 'csrftoken', '=;=']) {
    assert.is((await app.send('GET /csrf/', { as: ADA, headers: { cookie } })).statusCode, 200, cookie);
  }
});

csrf('records a failed check of a session in the audit trail', async ({ app }) => {
  const script = createScript(app);
  await script.logIn(ADA, DEMO_PASSWORD);
  const refused = await script.send('POST /jb/tokens/', {
    payload: { name: 'x' },
    headers: { 'x-csrftoken': 'wrong' },
  });
  const [entry] = await app.as(ROOT).audit.list({ actor: ADA, action: 'request.refused' });

  assert.is(refused.statusCode, 403);
  assert.equal(entry?.details, { request: 'POST /api/v1/jb/tokens/', problem: 'csrf-failed' });
});

csrf.run();
