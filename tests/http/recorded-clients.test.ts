import * as assert from 'uvu/assert';
import { java, php, python } from '../fixtures/recorded-requests.ts';
import { sendBytes } from '../support/http-clients.ts';
import { fetchPackage, publish } from '../support/packages.ts';
import { appSuite, ROOT, STAFF, type TestApp } from '../support/test-app.ts';

const recorded = appSuite('recorded requests of legacy clients');

const send = async (app: TestApp, request: string, as?: string) =>
  sendBytes(app, as === undefined ? request : request.replace('TOKEN', await app.tokenOf(as)));

const typeOf = ({ head }: { head: string }) => /^content-type: (.*)$/im.exec(head)?.[1];

for (const [client, request] of [
  ['Java: a login with a form', java.login],
  ['Java: a login with JSON', java.loginByJson],
  ['PHP: a login with two Content-Type headers, of which the last counts,', php.login],
  ['Python: a login by email with a form', python.login],
] as const)
  recorded(`${client} is answered with a token as JSON`, async ({ app }) => {
    const response = await send(app, request);

    assert.equal([response.status, typeOf(response)], [200, 'application/json; charset=utf-8']);
    assert.match(JSON.parse(response.body).token, /^[0-9a-f]{40}$/);
  });

recorded('Java: a wrong password is answered as JSON with non_field_errors', async ({ app }) => {
  const response = await send(app, java.wrongPassword);
  const problem = JSON.parse(response.body);

  assert.is(response.status, 400);
  assert.is(typeOf(response), 'application/problem+json; charset=utf-8');
  assert.equal(problem.non_field_errors, ['Unable to log in with provided credentials.']);
  assert.is(problem.detail, 'Unable to log in with provided credentials.');
});

recorded('Java: a list is answered as JSON although text/html comes first in Accept', async ({ app }) => {
  for (const request of [java.users, java.usersOfJava8]) {
    const response = await send(app, request, ROOT);

    assert.is(response.status, 200);
    assert.is(typeOf(response), 'application/json; charset=utf-8');
    assert.is(JSON.parse(response.body).length, 8);
  }
});

recorded('Java: a user is deactivated with 204, and a missing one is answered as JSON', async ({ app }) => {
  const missing = await send(app, java.missingUser, ROOT);
  const { status, body } = await send(app, java.deactivate, ROOT);

  assert.equal([missing.status, typeOf(missing)], [404, 'application/problem+json; charset=utf-8']);
  assert.equal([status, body], [204, '']);
});

recorded('Python: load answers 204, 401 for an old token, or an object', async ({ app }) => {
  const nothingFetched = await send(app, python.load, STAFF);
  await publish(app, { slug: 'sales', version: '1.0.0' });
  await fetchPackage(app, 'sales');
  const loaded = await send(app, python.load, STAFF);
  const expired = await send(app, python.load.replace('TOKEN', '0'.repeat(40)));

  assert.is(nothingFetched.status, 404);
  // The client reads `details.logs` of every failure.
  assert.is(JSON.parse(nothingFetched.body).details, undefined);
  assert.equal([loaded.status, loaded.body], [204, '']);
  assert.is(expired.status, 401);
});

recorded.run();
