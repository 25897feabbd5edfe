import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openBucket } from '../../src/adapters/package-store/s3-bucket.ts';
import { tracing } from '../../src/lib/tracing.ts';
import { setCredentials } from '../support/s3-server.ts';
import { recordSpans } from '../support/traces.ts';

setCredentials();
const s3 = suite('traces of S3 requests');

s3('send the current span to the server, outside of the signature', async () => {
  const received: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    received.push(request.headers);
    response.end('content');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a TCP server
  const location = { bucket: 'packages', prefix: '', region: 'us-east-1', pathStyle: true };
  const bucket = openBucket(
    { ...location, endpoint: `http://127.0.0.1:${port}` },
    { connectMs: 3_000, silenceMs: 3_000, maxPages: 1 },
  );
  using recorder = recordSpans();

  const content = await tracing.runIn(
    tracing.startRequest(() => ({ name: 'request' }), {}),
    () => bucket.get('name').then((body) => body && text(body)),
  );
  server.closeAllConnections();
  server.close();

  const context = recorder.named('S3 GetObject')?.spanContext();
  assert.is(content, 'content');
  assert.is(received[0]?.traceparent, `00-${context?.traceId}-${context?.spanId}-01`);
  assert.match(received[0]?.authorization ?? '', 'SignedHeaders=');
  assert.not.match(received[0]?.authorization ?? '', 'traceparent');
});

s3.run();
