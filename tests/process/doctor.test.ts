import { once } from 'node:events';
import { access, mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SUPERUSER } from '../../src/adapters/embedded-postgres/initdb.ts';
import { migrateDatabase } from '../../src/db/database.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { KEYS } from '../support/aws-environment.ts';
import { freePort } from '../support/free-port.ts';
import { BUCKET, startS3Server } from '../support/s3-server.ts';
import { makeScratchFolder } from '../support/scratch-folder.ts';
import { runCommand, type Settings, startService } from '../support/service-process.ts';
import { startSmtpServer } from '../support/smtp-server.ts';
import { startTcpDatabase, type TcpDatabase } from '../support/tcp-database.ts';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../support/test-certificate.ts';
import { administer, queryOnce } from '../support/test-server.ts';

const SECRET_KEY = 'a secret key that only tests ever use';
const doctor = suite<{ database: TcpDatabase }>('steward doctor');

doctor.before(async (context) => {
  context.database = await startTcpDatabase({ hasTls: true });
});
doctor.after(({ database }) => database[Symbol.asyncDispose]());

const examine = async (settings: Settings) => {
  const { code, stdout, stderr } = await runCommand(['doctor', '--json'], settings);
  assert.is(stderr, '');
  const findings: Finding[] = JSON.parse(stdout);
  const lines = (status: Finding['status'], check?: string): string[] =>
    findings
      .filter((finding) => finding.status === status && (check === undefined || finding.check === check))
      .map(({ message, action }) => `${message} ${action ?? ''}`.trim());
  return { code, stdout, findings, lines };
};

doctor('finds nothing wrong with a service that is set up well', async ({ database }) => {
  await using folder = await makeScratchFolder();
  await using mail = await startSmtpServer({ disabledCommands: ['STARTTLS'] });
  const port = String(await freePort());
  const settings = {
    DATA_DIR: folder.path,
    DATABASE_URL: database.url(`sslmode=verify-full&sslrootcert=${database.files.authority}`),
    SECRET_KEY,
    PORT: port,
    BASE_URL: `http://localhost:${port}`,
    SMTP_URL: `smtp://user:mail-secret@127.0.0.1:${mail.port}`,
  };
  await using _service = await startService('serve', settings);

  const { code, stdout, findings, lines } = await examine(settings);

  assert.equal([...lines('warning'), ...lines('failure')], []);
  assert.is(code, 0);
  const checks = new Set(findings.map(({ check }) => check));
  for (const check of [
    'settings',
    'data folder',
    'database',
    'privileges',
    'migrations',
    'database TLS',
    'clock',
    'mail',
    'package store',
    'public URL',
  ])
    assert.ok(checks.has(check), check);
  assert.match(stdout, 'accepts the login');
  assert.match(stdout, 'The certificate of the database is valid until 2120');
  for (const secret of ['mail-secret', SECRET_KEY]) assert.not.ok(stdout.includes(secret));
  assert.equal(mail.taken, []);
});

doctor('reports everything that is unavailable, without secrets', async () => {
  await using folder = await makeScratchFolder();
  await using mail = await startSmtpServer({ disabledCommands: ['STARTTLS'] });
  mail.faults.login = () => ({ status: 535 });
  await writeFile(folder.join('file'), '');

  const { code, stdout, lines } = await examine({
    DATA_DIR: folder.join('file'),
    DATABASE_URL: 'postgres://u:database-secret@127.0.0.1:1/x',
    SECRET_KEY,
    SMTP_URL: `smtp://user:mail-secret@127.0.0.1:${mail.port}`,
    APP_STORE: `file:${folder.join('file')}`,
  });

  assert.is(code, 1);
  assert.match(lines('failure', 'database').join(), 'ECONNREFUSED');
  assert.match(lines('failure', 'mail').join(), 'refused the login (535)');
  assert.match(lines('failure', 'package store').join(), 'ENOTDIR');
  for (const secret of ['mail-secret', 'database-secret', SECRET_KEY])
    assert.not.ok(stdout.includes(secret), secret);
});

doctor('names the grant that the role lacks, and accepts the role once it has it', async ({ database }) => {
  const { connection } = database;
  const admin = { ...connection, user: SUPERUSER };
  await administer(admin, 'create database narrow', "create role narrow login password 'narrow'");
  const narrow = { ...admin, database: 'narrow' };
  await administer(narrow, 'revoke create on schema public from public');
  const settings = { DATABASE_URL: `postgres://narrow:narrow@localhost:${database.port}/narrow`, SECRET_KEY };

  const before = await examine(settings);
  const [line = ''] = before.lines('failure', 'privileges');
  await administer(narrow, /grant .*$/.exec(line)?.[0] ?? '');
  const after = await examine(settings);

  assert.is(before.code, 1);
  assert.is(line.includes('grant usage, create on schema public to narrow'), true, line);
  assert.equal(after.lines('failure'), []);
  assert.equal(
    await queryOnce(narrow, "select relname from pg_class where relname like 'steward_doctor%'"),
    [],
  );
});

doctor('reports pending migrations and a read-only server', async ({ database }) => {
  const { connection } = database;
  await administer({ ...connection, user: SUPERUSER }, 'create database older owner steward');
  await migrateDatabase({ ...connection, database: 'older' }, { to: '0003-auth' });
  const DATABASE_URL = database.url().replace(/\/steward\?/, '/older?');

  const older = await examine({ DATABASE_URL, SECRET_KEY });
  await database.setReadOnly(true);
  const readOnly = await examine({ DATABASE_URL, SECRET_KEY }).finally(() => database.setReadOnly(false));

  assert.is(older.code, 0, older.stdout);
  assert.match(older.lines('warning', 'migrations').join(), '0004-invitations-and-mail');
  assert.is(readOnly.code, 1);
  assert.match(readOnly.lines('failure', 'database').join(), 'refuses writes');
});

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

doctor('starts nothing and creates nothing where no service has run', async () => {
  await using folder = await makeScratchFolder();

  const { code, lines } = await examine({ DATA_DIR: folder.join('data') });

  assert.is(code, 0);
  assert.match(lines('ok', 'database').join(), 'first start creates the embedded database');
  assert.is(
    await access(folder.join('data')).then(
      () => true,
      () => false,
    ),
    false,
  );
});

doctor('does not upgrade an embedded database of an older version', async () => {
  await using folder = await makeScratchFolder();
  await mkdir(folder.join('postgres'));
  await writeFile(folder.join('postgres/PG_VERSION'), '17\n');

  const { code, lines } = await examine({ DATA_DIR: folder.path });

  assert.is(code, 0);
  assert.match(lines('warning', 'database').join(), 'upgrade of the embedded database is not finished');
  assert.equal(await readdir(folder.path), ['postgres']);
});

doctor('runs beside a service with the embedded database, and finds a proxy that replaces Host', async () => {
  await using folder = await makeScratchFolder();
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

doctor('checks the certificate of BASE_URL', async () => {
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

  assert.match(untrusted.lines('failure', 'public URL').join(), /Browsers refuse the certificate/);
  assert.match(trusted.lines('ok', 'public URL').join(), 'valid until 2120');
  assert.match(trusted.lines('warning', 'public URL').join(), 'not as Steward does');
});

doctor('reports invalid settings and stops there, with a line for each', async () => {
  const { code, stdout, stderr } = await runCommand(['doctor'], { PORT: 'many', SMTP_URL: 'mail-secret' });

  assert.is(code, 1);
  assert.is(stderr, '');
  assert.match(stdout, /^FAILURE {2}settings {2}Invalid setting PORT: must be a whole number\. → See/m);
  assert.match(stdout, /^FAILURE {2}settings {2}Invalid setting SMTP_URL: /m);
  assert.match(stdout, /^2 failures, 0 warnings\.$/m);
  assert.not.match(stdout, 'mail-secret');
});

doctor.run();
