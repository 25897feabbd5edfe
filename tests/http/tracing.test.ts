import { once } from 'node:events';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SpanStatusCode } from '@opentelemetry/api';
import * as assert from 'uvu/assert';
import { startLogged } from '../support/logged-app.ts';
import { ADA, appSuite, GRACE, ROOT } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { recordSpans } from '../support/traces.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const UNSAMPLED = `00-${TRACE_ID}-b7ad6b7169203331-00`;
const ONE_USER = 'GET /api/v1/jb/users/:email/';
const traces = appSuite('traces of requests');

traces('show the lookups of each request, although concurrent ones share a statement', async ({ app }) => {
  await app.tokenOf(ROOT);
  using recorder = recordSpans();

  await Promise.all([ADA, GRACE].map((email) => app.send(`GET /jb/users/${email}/`, { as: ROOT })));
  await until('both have ended', () => recorder.spans().filter(({ name }) => name === ONE_USER).length === 2);

  const procedures = recorder.spans().filter(({ name }) => name === 'users.get');
  const traceIds = new Set(procedures.map((span) => span.spanContext().traceId));
  assert.is(traceIds.size, 2);
  assert.is(procedures.length, 2);
  for (const procedure of procedures) {
    const children = recorder.childrenOf(procedure).map(({ name }) => name);
    assert.ok(children.includes('batched lookup'), children.join());
  }
  const lookups = recorder.spans().filter(({ name }) => name === 'batched lookup');
  assert.ok(lookups.some((lookup) => recorder.childrenOf(lookup).some(({ name }) => name === 'SELECT')));
});

traces('show the pages of a streamed list', async ({ app }) => {
  using recorder = recordSpans();

  await app.send('GET /jb/users/', { as: ROOT });
  await until('the request has ended', () => recorder.named('GET /api/v1/jb/users/') !== undefined);

  assert.ok(recorder.named('WITH'));
  const [traceId] = recorder.spans().map((span) => span.spanContext().traceId);
  for (const span of recorder.spans()) assert.is(span.spanContext().traceId, traceId, span.name);
});

traces('are not recorded if the caller does not sample, but identified in the log', async ({ app }) => {
  const { logged, entries } = await startLogged(app, { hasTraces: true });
  using recorder = recordSpans();

  await logged.server.inject({ url: '/api/v1/jb/sites/', headers: { traceparent: UNSAMPLED } });
  await logged.close();

  assert.equal(recorder.spans(), []);
  assert.is(entries('request completed')[0]?.trace_id, TRACE_ID);
});

traces('have the code of a failure, not its text, and the log has their ids', async ({ app }) => {
  const { logged, entries } = await startLogged(app, { hasTraces: true });
  const headers = { authorization: `Token ${await app.tokenOf(ADA)}` };
  await app.orm.em.fork().execute('alter table sites rename to sites_away');
  using recorder = recordSpans();

  await logged.server.inject({ url: '/api/v1/jb/sites/', headers });
  await until('the request has ended', () => recorder.named('GET /api/v1/jb/sites/') !== undefined);
  await logged.close();
  await app.orm.em.fork().execute('alter table sites_away rename to sites');

  const span = recorder.named('GET /api/v1/jb/sites/');
  assert.is(span?.status.code, SpanStatusCode.ERROR);
  assert.is(span?.attributes['error.type'], '500');
  assert.is(recorder.named('sites.list')?.attributes['error.type'], 'internal-error');
  const failed = recorder.childrenOf(recorder.named('sites.list')).filter(({ name }) => name === 'SELECT');
  assert.is(failed.at(-1)?.attributes['error.type'], '42P01');
  const shown = recorder.spans().map(({ attributes, events }) => [attributes, events]);
  assert.not.match(JSON.stringify(shown), 'relation');
  const ofRequest = entries().filter(({ reqId }) => reqId !== undefined);
  assert.ok(ofRequest.length >= 2, 'the failure and the response are logged');
  for (const { trace_id, msg } of ofRequest) assert.is(trace_id, span?.spanContext().traceId, msg);
});

traces('name an unknown path and an unusual method in general terms', async ({ app }) => {
  using recorder = recordSpans();

  await app.server.inject({ url: '/secret-path/ada@acme.test' });
  await app.server.inject({ url: '/api/v1/jb/sites/', method: 'PROPFIND' as 'GET' }); // any method of Node
  await until('both have ended', () => recorder.spans().length >= 2);

  const spans = recorder.spans();
  assert.is(spans.map(({ name }) => name.split(' ')[0]).join(), 'GET,HTTP');
  assert.not.match(JSON.stringify(spans.map(({ name, attributes }) => [name, attributes])), 'secret-path');
});

traces('end when the caller closes the connection', async ({ app }) => {
  await app.server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.server.address() as AddressInfo; // of a TCP server
  using recorder = recordSpans();

  const headers = { 'content-type': 'application/json', 'content-length': '100' };
  const sent = request({ port, method: 'POST', path: '/api/v1/api-token-auth/', headers });
  sent.on('error', () => {});
  sent.write('{');
  await once(app.server.server, 'request');
  sent.destroy();
  await until('the span has ended', () => recorder.spans().length > 0);

  assert.is(recorder.named('POST /api/v1/api-token-auth/')?.attributes['error.type'], 'aborted');
});

traces.run();
