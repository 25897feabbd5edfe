import { createConfig, lintFromString } from '@redocly/openapi-core';
import * as assert from 'uvu/assert';
import { publishDemoPackages } from '../../../src/demo/packages.ts';
import { openApi, operationFor, requestErrors, responseErrors } from '../../support/openapi.ts';
import { suite } from '../../support/suite.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { extensionRows } from './extension-rows.ts';
import { failureRows } from './failure-rows.ts';
import { requestWithHugeHeader } from './huge-header.ts';
import { sendRow } from './send-row.ts';
import { ROWS, type Row } from './walk-rows.ts';

/** Public paths that are not procedures. */
const SERVICE = ['!/healthz', '!/readyz', '/status/', '/', '/csrf/', '/openapi.json'];

const all = Object.values(openApi.paths).flatMap((operations) =>
  Object.values(operations).map(({ operationId }) => operationId),
);
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

  assert.equal(
    all.filter((id) => !succeeded.has(id)),
    [],
  );
});

coverage('documents an error of every operation', async ({ app }) => {
  for (const row of failureRows()) {
    const answer = await app.send(row.line, row);
    assert.ok(answer.statusCode >= 400, row.line);
    failed.add(operationOf(row).operation.operationId);
  }
  await app.server.listen({ port: 0, host: '127.0.0.1' });
  for (const path of SERVICE) {
    const { operation, url } = operationOf({ line: `GET ${path}` });
    const answer = await requestWithHugeHeader(app.server.server, url);
    assert.is(answer.statusCode, 431);
    assert.equal(responseErrors(operation, 'GET', answer), [], url);
    failed.add(operation.operationId);
  }

  assert.equal(
    all.filter((id) => !failed.has(id)),
    [],
  );
  const share = (of: Set<string>) => `${of.size} of ${all.length} (${(100 * of.size) / all.length} %)`;
  console.log(`\n# operations seen to succeed: ${share(succeeded)}, to fail: ${share(failed)}`);
});

coverage('passes the recommended lint rules except no-path-trailing-slash', async () => {
  const config = await createConfig({ extends: ['recommended'], rules: { 'no-path-trailing-slash': 'off' } });
  const problems = await lintFromString({
    source: JSON.stringify(openApi),
    absoluteRef: 'openapi.json',
    config,
  });

  const errors = problems.filter(({ severity }) => severity === 'error');
  assert.equal(
    errors.map(({ ruleId, message }) => `${ruleId}: ${message}`),
    [],
  );
});

coverage.run();
