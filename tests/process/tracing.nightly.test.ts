import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeDemoDir } from '../support/demo-data.ts';
import { startService } from '../support/service-process.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { until } from '../support/time.ts';
import { type ReceivedSpan, startOtlpReceiver } from '../support/traces.ts';

const ADMIN = 'admin@acme.test';
const PASSWORD = 'steward-demo-1';
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const PARENT_ID = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE_ID}-${PARENT_ID}-01`;
const SERVER = 2;

const tracing = suite('traces');

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan | undefined =>
  spans.find((span) => span.name === name);

const parentOf = (spans: readonly ReceivedSpan[], span: ReceivedSpan | undefined): string | undefined =>
  spans.find(({ spanId }) => spanId === span?.parentSpanId)?.name;

const logLines = (output: string) =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line): Record<string, unknown> => JSON.parse(line));

tracing('show a login from the request to SQL and hashing, and hold no secret', async () => {
  await using folder = await makeDemoDir();
  await using collector = await startOtlpReceiver();
  await using service = await startService('demo', {
    DATA_DIR: folder.path,
    ...collector.settings,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=key-of-the-collector',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  });

  const { status, json } = await service.send('POST /api-token-auth/?query=query-secret', {
    body: { username: ADMIN, password: PASSWORD },
    headers: { traceparent: TRACEPARENT, cookie: 'sessionid=cookie-secret', 'x-request-id': 'request-1' },
  });
  const { token } = json;
  await service.send('POST /api-token-auth/', { body: { username: ADMIN, password: 'wrong-secret' } });
  await service.send(`PATCH /jb/users/ada@acme.test/`, { token, body: { first_name: 'Name-Secret' } });
  const route = 'PATCH /api/v1/jb/users/:email/';
  await until('the spans have come', () => named(collector.spans, route) !== undefined);

  assert.is(status, 200);
  const spans = collector.spans.filter(({ traceId }) => traceId === TRACE_ID);
  const request = spans.find(({ parentSpanId }) => parentSpanId === PARENT_ID);
  assert.is(request?.name, 'POST /api/v1/api-token-auth/');
  assert.is(request?.kind, SERVER);
  assert.is(request?.attributes['http.response.status_code'], 200);
  assert.is(request?.attributes['http.route'], '/api/v1/api-token-auth/');
  assert.is(request?.attributes['steward.request_id'], 'request-1');
  assert.is(request?.resource['service.name'], 'steward');
  assert.is(request?.resource['deployment.environment.name'], 'test');
  assert.is(parentOf(spans, named(spans, 'tokens.create')), request?.name);
  assert.is(parentOf(spans, named(spans, 'verify argon2id')), 'tokens.create');
  const statements = spans.filter(({ attributes }) => attributes['db.system.name'] === 'postgresql');
  assert.ok(statements.some(({ name }) => name === 'SELECT'));
  assert.equal([...new Set(statements.map((span) => parentOf(spans, span)))], ['tokens.create']);
  assert.is(collector.requests[0]?.url, '/v1/traces');
  assert.is(collector.requests[0]?.headers['x-collector-key'], 'key-of-the-collector');

  const logged = logLines(service.output.stdout).find(({ reqId }) => reqId === 'request-1');
  assert.equal([logged?.trace_id, logged?.span_id], [TRACE_ID, request?.spanId]);

  const exported = Buffer.concat(collector.bodies).toString('latin1');
  for (const secret of [PASSWORD, token, 'secret', 'Secret', '@acme.test', 'Name'])
    assert.not.ok(exported.includes(secret), `${secret} was exported`);
  assert.not.ok(service.output.stdout.includes('key-of-the-collector'));
});

tracing('link the delivery of a mail to the request that caused it', async () => {
  await using folder = await makeDemoDir();
  await using collector = await startOtlpReceiver();
  await using smtp = await startSmtpServer();
  const settings = { DATA_DIR: folder.path, SMTP_URL: smtp.url, ...collector.settings };
  await using service = await startService('demo', settings);

  const headers = { traceparent: TRACEPARENT };
  const sent = await service.send('POST /password/request-reset/', { body: { email: ADMIN }, headers });
  await until('the delivery is traced', () => named(collector.spans, 'deliver password-reset') !== undefined);

  assert.ok(sent.status < 300, sent.text);
  const spans = collector.spans;
  const delivery = named(spans, 'deliver password-reset');
  const cause = named(spans, 'passwords.requestReset');
  assert.equal(
    delivery?.links.map(({ traceId, spanId }) => [traceId, spanId]),
    [[TRACE_ID, cause?.spanId]],
  );
  assert.is.not(delivery?.traceId, TRACE_ID);
  assert.is(parentOf(spans, named(spans, 'send mail')), 'deliver password-reset');
  const logged = logLines(service.output.stdout).find(({ msg }) => msg === 'mail sent');
  assert.is(logged?.trace_id, delivery?.traceId);
});

tracing('are exported by every worker, as protobuf, and before a worker stops', async () => {
  await using folder = await makeDemoDir();
  await using collector = await startOtlpReceiver();
  const { OTEL_EXPORTER_OTLP_ENDPOINT } = collector.settings;
  await using service = await startService('demo', {
    DATA_DIR: folder.path,
    WORKERS: '2',
    OTEL_EXPORTER_OTLP_ENDPOINT,
    // Longer than the test: only the shutdown exports.
    OTEL_BSP_SCHEDULE_DELAY: '600000',
  });
  const workersSeen = () =>
    new Set(
      logLines(service.output.stdout)
        .filter(({ msg }) => msg === 'request completed')
        .map(({ worker }) => worker),
    ).size;
  await until('both workers have responded', async () => {
    await service.send('GET !/healthz', { headers: { connection: 'close' } });
    return workersSeen() === 2;
  });
  assert.is(collector.requests.length, 0);

  const { code } = await service.kill('SIGTERM');

  assert.is(code, 0);
  await until('both exports have arrived', () => collector.requests.length >= 2);
  assert.is(collector.requests.length, 2);
  for (const { headers } of collector.requests) assert.is(headers['content-type'], 'application/x-protobuf');
  for (const body of collector.bodies) assert.ok(body.includes('GET /healthz'));
});

tracing.run();
