import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../support/certificates.ts';
import { KEYS } from '../support/environment.ts';
import { makeScratchFolder } from '../support/files.ts';
import { BUCKET, startS3Server } from '../support/s3-server.ts';
import { examine, startService } from '../support/service-process.ts';
import { makeDataDir } from '../support/test-server.ts';

const doctor = suite('steward doctor, with buckets and proxies');

doctor('reads and writes a bucket, and warns if it can only be read', async () => {
  await using bucket = await startS3Server();
  const readOnly = createServer((incoming, response) => {
    if (incoming.method === 'PUT') {
      response.writeHead(403, { 'content-type': 'application/xml' });
      response.end('<Error><Code>AccessDenied</Code><Message>no</Message></Error>');
      return;
    }
    const { method, headers, url } = incoming;
    const forwarded = request(new URL(url ?? '', bucket.endpoint), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(forwarded);
  }).listen(0, '127.0.0.1');
  await once(readOnly, 'listening');
  const settings = { ...KEYS, AWS_EC2_METADATA_DISABLED: 'true', APP_STORE: `s3://${BUCKET}/apps` };

  const writable = await examine({ ...settings, APP_STORE_ENDPOINT: bucket.endpoint });
  const { port } = readOnly.address() as AddressInfo; // of a TCP server
  const refused = await examine({ ...settings, APP_STORE_ENDPOINT: `http://127.0.0.1:${port}` });
  readOnly.close();

  assert.equal(writable.lines('ok', 'package store'), ['s3://packages/apps can be read and written.']);
  assert.match(
    refused.lines('warning', 'package store').join(),
    /can be read, but not written \(AccessDenied/,
  );
  assert.is(refused.code, 0);
});

doctor('runs beside a service with the embedded database, and finds a proxy that replaces Host', async () => {
  await using folder = await makeDataDir();
  await using service = await startService('serve', { DATA_DIR: folder.path });
  const proxy = createServer((incoming, response) => {
    const { method, url, headers } = incoming;
    const target = new URL(url ?? '', service.address);
    const forwarded = request(target, { method, headers: { ...headers, host: target.host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(forwarded);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo; // of a TCP server

  const direct = await examine({ DATA_DIR: folder.path, BASE_URL: service.address });
  const proxied = await examine({ DATA_DIR: folder.path, BASE_URL: `http://localhost:${port}` });
  proxy.close();

  assert.equal(direct.lines('failure'), []);
  assert.match(direct.lines('ok', 'public URL').join(), 'Forms sent to this address are accepted');
  assert.is(proxied.code, 1);
  assert.match(proxied.lines('failure', 'public URL').join(), 'Preserve the Host header');
});

doctor('reports a certificate that browsers refuse, and another service at BASE_URL', async () => {
  await using folder = await makeScratchFolder();
  await writeFile(folder.join('ca.pem'), TEST_CERTIFICATE);
  const server = createTlsServer(
    { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY },
    (_request, response) => {
      response.end('another service');
    },
  ).listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a TCP server
  const settings = { DATA_DIR: folder.path, BASE_URL: `https://localhost:${port}`, TRUST_PROXY: '1' };

  const untrusted = await examine(settings);
  const trusted = await examine({ ...settings, NODE_EXTRA_CA_CERTS: folder.join('ca.pem') });
  server.close();

  assert.match(untrusted.lines('warning', 'public URL').join(), /does not answer \(.*certificate/);
  assert.match(trusted.lines('warning', 'public URL').join(), 'not as Steward does');
});

doctor.run();
