import * as assert from 'uvu/assert';
import { newToken } from '../../src/lib/ids.ts';
import { ADA, appSuite, DEMO_PASSWORD, type TestApp } from '../support/test-app.ts';

const paths = appSuite('paths that refresh and verify tokens');

const VERIFY = [
  '/jb/api-token-verify/',
  '/jb/api-token-verify',
  '!/api/v2/auth/verify/',
  '!/api/v2/auth/verify',
];
const REFRESH = VERIFY.map((path) => path.replace('verify', 'refresh'));
const FORM = 'application/x-www-form-urlencoded';

const login = async (app: TestApp, path = '!/api/v2/auth/', username = ADA): Promise<string> => {
  const response = await app.send(`POST ${path}`, { payload: { username, password: DEMO_PASSWORD } });
  assert.is(response.statusCode, 200, response.body);
  return response.json().token;
};

paths('accept JSON and forms, with or without the slash', async ({ app }) => {
  const token = await login(app);
  const multipart = 'multipart/form-data; boundary=x';
  const part = `--x\r\nContent-Disposition: form-data; name="token"\r\n\r\n${token}\r\n--x--\r\n`;
  for (const path of VERIFY) {
    const sent = [
      await app.send(`POST ${path}`, { payload: { token } }),
      await app.send(`POST ${path}`, { payload: `token=${token}`, headers: { 'content-type': FORM } }),
      await app.send(`POST ${path}`, { payload: part, headers: { 'content-type': multipart } }),
    ];
    for (const { statusCode, body } of sent)
      assert.equal([statusCode, body], [200, JSON.stringify({ token })]);
  }
  const issued: string[] = [];
  for (const path of REFRESH) {
    issued.push((await app.send(`POST ${path}`, { payload: { token } })).json().token);
    const form = { payload: `token=${token}`, headers: { 'content-type': FORM } };
    issued.push((await app.send(`POST ${path}`, form)).json().token);
  }
  assert.equal([new Set(issued).size, issued.includes(token)], [1, false]);
});

paths('ignore the Authorization header, like the path that issues tokens', async ({ app }) => {
  const token = await login(app);
  for (const authorization of ['Token unknown', 'Bearer unknown', `JWT ${token}`, 'Basic eDp5']) {
    const verify = async (payload: object) =>
      (await app.send('POST /jb/api-token-verify/', { payload, headers: { authorization } })).statusCode;
    assert.equal([await verify({ token }), await verify({ token: newToken() })], [200, 400], authorization);
  }
});

paths('answer an invalid token like wrong credentials', async ({ app }) => {
  for (const path of [...VERIFY, ...REFRESH]) {
    const token = newToken();
    const response = await app.send(`POST ${path}`, { payload: { token }, headers: { accept: 'text/html' } });
    const { instance, ...problem } = response.json();
    const detail = 'The token is invalid or expired.';
    assert.equal(problem, {
      type: 'urn:steward:problem:invalid-token',
      title: 'Invalid token',
      status: 400,
      detail,
      non_field_errors: [detail],
    });
    assert.ok(instance);
    assert.not.ok(response.body.includes(token));

    const missing = await app.send(`POST ${path}`, { payload: {} });
    assert.equal([missing.statusCode, missing.json().errors], [400, { token: ['This field is required.'] }]);
    assert.is((await app.send(`GET ${path}`)).statusCode, 405);
  }
});

paths('serve no other path under /api/v2', async ({ app }) => {
  for (const path of ['!/api/v2/', '!/api/v2/users/', '!/api/v2/jb/users/', '!/api/v2/api-token-auth/'])
    assert.is((await app.send(`POST ${path}`, { payload: {} })).statusCode, 404, path);
});

paths.run();
