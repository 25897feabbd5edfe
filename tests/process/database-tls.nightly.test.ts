import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { parseDatabaseUrl } from '../../src/config/database-url.ts';
import { createClient, openClient, resolveTlsMode } from '../../src/db/client.ts';
import { TEST_CERTIFICATE } from '../support/certificates.ts';
import { startTcpDatabase } from '../support/database-servers.ts';
import { assertRefused, runCommand, startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';
import { queryOnce } from '../support/test-server.ts';
import { until } from '../support/time.ts';

const SECRET_KEY = 'a secret key that only tests ever use';

const start = async (started: AsyncDisposableStack) => {
  const open = async (options?: Parameters<typeof startTcpDatabase>[0]) =>
    started.use(await startTcpDatabase(options));
  return {
    encrypted: await open({ hasTls: true, access: 'hostssl all all all scram-sha-256' }),
    clear: await open(),
    certified: await open({ hasTls: true, access: 'hostssl all all all cert' }),
  };
};

const tls = suiteWith('DATABASE_URL with TLS', start);

/** Connects and asks the server whether the connection has TLS. */
const connect = async (url: string): Promise<boolean> => {
  const client = createClient(await resolveTlsMode(parseDatabaseUrl(url)), 'test');
  await client.connect();
  try {
    const { rows } = await client.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()');
    return rows[0]?.ssl;
  } finally {
    await client.end();
  }
};

const failureOf = (attempt: Promise<unknown>): Promise<string> => attempt.then(() => 'no failure', String);

tls('verify-full: every connection of a service is encrypted', async ({ encrypted }) => {
  const DATABASE_URL = encrypted.url(`sslmode=verify-full&sslrootcert=${encrypted.files.authority}`);
  await using service = await startService('serve', { DATABASE_URL, SECRET_KEY });
  const connectionsOf = (name: string) =>
    queryOnce(
      encrypted.connection,
      `select ssl from pg_stat_activity join pg_stat_ssl using (pid) where application_name = '${name}'`,
    );
  await until('it listens', async () => (await connectionsOf('steward notifications')).length > 0);
  const rows = [...(await connectionsOf('steward')), ...(await connectionsOf('steward notifications'))];
  const ending = await service.kill('SIGTERM');

  assert.ok(rows.length > 1);
  assert.ok(rows.every(({ ssl }) => ssl));
  assert.is(ending.code, 0, ending.stderr);
});

tls('verify-full: the host must be that of the certificate, verify-ca: any host', async ({ encrypted }) => {
  const root = `sslrootcert=${encrypted.files.authority}`;
  const byAddress = (mode: string) => encrypted.url(`sslmode=${mode}&${root}`, `127.0.0.1:${encrypted.port}`);

  assert.match(await failureOf(connect(byAddress('verify-full'))), /does not match certificate/);
  assert.is(await connect(byAddress('verify-ca')), true);
  assert.is(await connect(encrypted.url(`sslmode=verify-full&${root}`)), true);
});

tls('verify-ca and require with sslrootcert: another authority is refused', async ({ encrypted }) => {
  const other = join(encrypted.files.authority, '../other.pem');
  await writeFile(other, TEST_CERTIFICATE);

  for (const mode of ['verify-ca', 'require'])
    assert.match(
      await failureOf(connect(encrypted.url(`sslmode=${mode}&sslrootcert=${other}`))),
      /unable to verify the first certificate|self-signed/,
    );
});

tls('sslrootcert: a renewed file is used by the next connection', async ({ encrypted }) => {
  const { authority } = encrypted.files;
  const renewed = join(authority, '../renewed.pem');
  await writeFile(renewed, TEST_CERTIFICATE);
  const connection = parseDatabaseUrl(encrypted.url(`sslmode=verify-full&sslrootcert=${renewed}`));
  const logIn = async () => {
    await using _loggedIn = await openClient(connection, 'test');
  };

  const before = await failureOf(logIn());
  await copyFile(authority, renewed);

  assert.match(before, /CannotConnect: /);
  await logIn();
});

tls('require: a server without TLS is refused, in one line without the password', async ({ clear }) => {
  const DATABASE_URL = clear.url('sslmode=require');
  const outcome = await runCommand(['migrate'], { DATABASE_URL, SECRET_KEY });

  assertRefused(outcome, 1);
  assert.is(
    outcome.stderr,
    'DATABASE_URL: the database cannot be used (The server does not support SSL connections).\n',
  );
});

tls(
  'require encrypts without a check, and prefer, the default, where the server has TLS',
  async (context) => {
    const { encrypted, clear } = context;
    const connected = [encrypted.url('sslmode=require'), encrypted.url(), clear.url()].map(connect);

    assert.equal(await Promise.all(connected), [true, true, false]);
  },
);

tls('sslcert and sslkey: log in by certificate', async ({ certified }) => {
  const { authority, certificate, key } = certified.files;
  const root = `sslmode=verify-full&sslrootcert=${authority}`;

  assert.match(await failureOf(connect(certified.url(root))), /requires a valid client certificate/);
  assert.is(await connect(certified.url(`${root}&sslcert=${certificate}&sslkey=${key}`)), true);
});

tls('sslrootcert=system: trusts the authorities of the operating system', async ({ encrypted }) => {
  const DATABASE_URL = encrypted.url('sslrootcert=system');
  const untrusted = await runCommand(['migrate'], { DATABASE_URL, SECRET_KEY });
  const trusted = await runCommand(['migrate'], {
    DATABASE_URL,
    SECRET_KEY,
    SSL_CERT_FILE: encrypted.files.authority,
  });

  assertRefused(untrusted, 1);
  assert.match(untrusted.stderr, /^DATABASE_URL: the database cannot be used \(.*certificate.*\)\.\n$/);
  assert.is(trusted.code, 0, trusted.stderr);
});

tls.run();
