import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import * as assert from 'uvu/assert';
import { publishDemoPackages } from '../../../src/demo/packages.ts';
import { REST_ENDPOINTS } from '../../../src/http/rest/endpoints.ts';
import { openApi, operationFor, requestErrors, responseErrors } from '../../support/openapi.ts';
import { suite } from '../../support/suite.ts';
import { addressOf, restPath, startTestApp, type TestApp } from '../../support/test-app.ts';
import { extensionRows } from './extension-rows.ts';
import { ROWS, type Row } from './walk-rows.ts';

/** Public paths that are not procedures. */
const SERVICE = ['!/healthz', '!/readyz', '/status/', '/', '/csrf/', '/openapi.json'];

const operations = Object.values(openApi.paths).flatMap((path) => Object.values(path));
const all = operations.map(({ operationId }) => operationId);
const succeeded = new Set<string>();
const failed = new Set<string>();
const coverage = suite<{ app: TestApp }>('OpenAPI document, validated against every operation');

coverage.before(async (context) => {
  context.app = await startTestApp();
  await publishDemoPackages(context.app.store);
});
coverage.after(({ app }) => app.close());

const operationOf = ({ line }: Row) => {
  const [method = '', path = ''] = line.split(' ');
  const url = path.startsWith('!') ? path.slice(1) : `/api/v1${path}`;
  const found = operationFor(method, url);
  if (!found) throw new Error(`${line} is not in the document`);
  return { ...found, url };
};

/** Sends the request of a row as JSON, and accepts JSON if nothing else. */
const sendRow = async (app: TestApp, { line, as, body, accept = 'application/json', cookie }: Row) => {
  const [, token] = /csrftoken=([^;]+)/.exec(cookie ?? '') ?? [];
  const ofSession = token === undefined ? {} : { 'x-csrftoken': token };
  const csrf = line.startsWith('POST /hashr/') && as ? await csrfHeaders(app, as) : ofSession;
  const payload = body !== undefined && { payload: JSON.stringify(body) };
  const type = payload && { 'content-type': 'application/json' };
  return app.send(line, { ...(as && { as }), ...payload, headers: { accept, cookie, ...type, ...csrf } });
};

/** The CSRF token for the POST that needs one, from the cookie of an earlier GET as documented. */
const csrfHeaders = async (app: TestApp, as: string) => {
  const { cookies } = await app.send('GET /hashr/saved_global_filters/', { as });
  const token = cookies.find(({ name }) => name === 'csrftoken')?.value ?? '';
  return { 'x-csrftoken': token, cookie: `csrftoken=${token}` };
};

/** `send` validates every response against the document, see tests/support. */
const succeeds = async (app: TestApp, step: Row): Promise<void> => {
  const { operation, path, url } = operationOf(step);
  assert.equal(requestErrors(operation, { path, url, body: step.body }), [], step.line);
  const answer = await sendRow(app, step);
  assert.ok(answer.statusCode < 300, `${step.line}: ${answer.body}`);
  succeeded.add(operation.operationId);
};

coverage('documents a successful request and response of every operation', async ({ app }) => {
  for (const row of ROWS) await succeeds(app, row);
  for (const row of await extensionRows(app)) await succeeds(app, row);
  for (const path of SERVICE) await succeeds(app, { line: `GET ${path}` });

  assert.is(all.filter((id) => !succeeded.has(id)).join(), '');
});

coverage('documents an error of every operation', async ({ app }) => {
  // Without a login, or for public paths with an unacceptable type or a malformed body.
  for (const { method, url, isPublic } of REST_ENDPOINTS) {
    const line = `${method} ${restPath(url).replaceAll(/:\w+/g, '1')}`;
    const read = isPublic && { headers: { accept: 'image/png' } };
    const write = isPublic && { payload: '[', headers: { 'content-type': 'application/json' } };
    const answer = await app.send(line, { ...(method === 'GET' ? read : write) });
    assert.ok(answer.statusCode >= 400, line);
    failed.add(operationOf({ line }).operation.operationId);
  }
  for (const path of SERVICE) {
    const { operation, url } = operationOf({ line: `GET ${path}` });
    // Over a socket: requests that the HTTP parser rejects never reach a route.
    const sent = request((await addressOf(app)) + url, {
      headers: { 'x-huge': 'x'.repeat(32 * 1024) },
    }).end();
    const [received] = (await once(sent, 'response')) as [IncomingMessage]; // what the event has
    const { statusCode = 0, headers } = received;
    const answer = { statusCode, headers, body: await text(received) };
    assert.is(answer.statusCode, 431);
    assert.equal(responseErrors(operation, 'GET', answer), [], url);
    failed.add(operation.operationId);
  }

  assert.is(all.filter((id) => !failed.has(id)).join(), '');
  const share = (of: Set<string>) => `${of.size} of ${all.length} (${(100 * of.size) / all.length} %)`;
  console.log(`\n# operations seen to succeed: ${share(succeeded)}, to fail: ${share(failed)}`);
});

coverage('passes the recommended lint rules except no-path-trailing-slash', async () => {
  const config = await createConfig({ extends: ['recommended'], rules: { 'no-path-trailing-slash': 'off' } });
  const source = JSON.stringify(openApi);
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });

  const errors = problems.filter(({ severity }) => severity === 'error');
  assert.is(errors.map(({ ruleId, message }) => `${ruleId}: ${message}`).join('\n'), '');
});

coverage.run();
