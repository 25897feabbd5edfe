import * as assert from 'uvu/assert';
import { loggedIn } from '../support/logins.ts';
import { ACME, ADA, appSuite, DEMO_PASSWORD, GRACE, ROOT, type TestApp } from '../support/test-app.ts';
import { CHURN, SALES } from '../support/usage.ts';

const forms = appSuite('forms and texts');

type Fields = [name: string, value: string][];

/** Sends the fields as `requests` of Python does: urlencoded, or as multipart. */
const post = async (app: TestApp, line: string, as: string | null, fields: Fields, isMultipart = false) => {
  const body = isMultipart ? new FormData() : new URLSearchParams();
  for (const [name, value] of fields) body.append(name, value);
  const encoded = new Response(body);
  return app.send(line, {
    ...(as && { as }),
    payload: Buffer.from(await encoded.arrayBuffer()),
    headers: { 'content-type': encoded.headers.get('content-type') ?? '' },
  });
};

forms('are taken by the token endpoint', async ({ app }) => {
  const fields: Fields = [
    ['username', 'ADA@acme.test'],
    ['password', DEMO_PASSWORD],
  ];

  for (const isMultipart of [false, true]) {
    const { statusCode, body } = await post(app, 'POST /api-token-auth/', null, fields, isMultipart);
    assert.equal([statusCode, /^\{"token":"[0-9a-f]{40}"\}$/.test(body)], [200, true], body);
  }
});

forms('are taken by every path, with arrays, objects and what Python writes', async ({ app }) => {
  const { statusCode, body, json } = await post(app, 'POST /jb/users/', ACME, [
    ['email', 'form@acme.test'],
    ['first_name', 'Form'],
    ['extra', '{"tenant":1546130668394913822}'],
    ['is_demo_user', 'True'],
    ['apps', SALES],
    ['apps', CHURN],
    ['send_email', 'false'],
  ]);

  assert.is(statusCode, 200, body);
  const { first_name, is_demo_user, apps } = json();
  assert.equal([first_name, is_demo_user, apps], ['Form', true, [SALES, CHURN]]);
  assert.ok(body.includes('"tenant":1546130668394913822'), body);
  for (const [fields, expected] of [
    [[['apps', CHURN]], [CHURN]],
    [[['apps', `["${SALES}"]`]], [SALES]],
    [[['first_name', 'Kept']], [SALES]],
    [[['apps', '']], []],
  ] as [Fields, string[]][]) {
    const changed = await post(app, 'PATCH /jb/users/form@acme.test/', ACME, fields, true);
    assert.equal(changed.json().apps, expected, changed.body);
  }
});

forms('are taken where the body is also an array, and where it is nested', async ({ app }) => {
  const invited = await post(app, 'POST /jb/users/invitations/', ACME, [
    ['email', 'form@guest.test'],
    ['initial_apps', SALES],
    ['is_demo_user', 'False'],
  ]);
  const client = await post(app, 'PATCH /jb/clients/1/', ROOT, [
    ['password_min_length', '12'],
    ['password_allow_common', 'False'],
    ['login_title', '[not JSON]'],
  ]);

  assert.is(invited.statusCode, 200, invited.body);
  assert.equal(invited.json().initial_apps, [SALES]);
  const logged = await post(app, `POST /jb/apps/${SALES}/usage/`, ACME, [
    ['email', ADA],
    ['action', 'FORM'],
    ['extra', '{"stack":"a0a91e46"}'],
  ]);

  assert.is(logged.statusCode, 201, logged.body);
  assert.is(client.statusCode, 200, client.body);
  const { password_min_length, login_title } = client.json();
  assert.equal([password_min_length, login_title], [12, '[not JSON]']);
});

forms('name the field that is invalid, and refuse a malformed body', async ({ app }) => {
  const wrong = await post(app, 'PATCH /jb/users/ada@acme.test/', ACME, [
    ['extra', '{"a":'],
    ['is_active', 'maybe'],
  ]);
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const sent = { as: ACME, payload: 'no boundary here', headers };
  const broken = await app.send('PATCH /jb/users/ada@acme.test/', sent);

  assert.equal(Object.keys(wrong.json().errors), ['extra', 'is_active']);
  assert.is(broken.statusCode, 400);
});

forms('have at most 1,000 fields, whose parser is slow', async ({ app }) => {
  const urlencoded = (count: number) =>
    app.send('POST /password/check/', {
      payload: `password=x${'&a'.repeat(count - 1)}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  assert.is((await urlencoded(1_000)).statusCode, 200);
  const part = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n';
  const multipart = await app.send('POST /password/check/', {
    payload: `${part.repeat(1_001)}--x--`,
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  });
  for (const { statusCode, body } of [await urlencoded(1_001), multipart]) {
    assert.is(statusCode, 400);
    assert.match(body, 'A form must not have more than 1000 fields.');
  }
});

forms('of a browser session need the CSRF token, as JSON does', async ({ app }) => {
  const { send } = await loggedIn(app);
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-csrftoken': '' };
  const payload = `password=${DEMO_PASSWORD}`;
  const { statusCode, body } = await send('POST /session/confirm/', { payload, headers });

  assert.is(statusCode, 403, body);
  assert.match(body, 'csrf-failed');
});

forms('booleans are those of Python, too, in queries and in JSON, but no other text', async ({ app }) => {
  const counted = await app.send('GET /jb/users/?is_active=False', { as: ACME });
  const payload = { is_active: 'False', is_demo_user: 'True' };
  const changed = await app.send(`PATCH /jb/users/${GRACE}/`, { as: ACME, payload });
  const refused = await app.send(`PATCH /jb/users/${GRACE}/`, { as: ACME, payload: { is_active: '1' } });

  assert.ok(counted.json().every((user: { is_active: boolean }) => !user.is_active));
  assert.equal([changed.json().is_active, changed.json().is_demo_user], [false, true], changed.body);
  assert.equal([refused.statusCode, Object.keys(refused.json().errors)], [400, ['is_active']]);
});

forms.run();
