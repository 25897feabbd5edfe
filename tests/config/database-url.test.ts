import { writeFile } from 'node:fs/promises';
import * as assert from 'uvu/assert';
import { parseDatabaseUrl } from '../../src/config/database-url.ts';
import { AUTHORITY, CLIENT, SERVER } from '../support/certificates.ts';
import { makeScratchFolder } from '../support/files.ts';
import { suite } from '../support/suite.ts';

type Context = { folder: Awaited<ReturnType<typeof makeScratchFolder>> };

const urls = suite<Context>('parseDatabaseUrl');

urls.before(async (context) => {
  const folder = await makeScratchFolder();
  context.folder = folder;
  await writeFile(folder.join('ca.pem'), AUTHORITY);
  await writeFile(folder.join('client.pem'), CLIENT.certificate);
  await writeFile(folder.join('client.key'), CLIENT.key);
  await writeFile(folder.join('other.key'), SERVER.key);
  await writeFile(folder.join('text'), 'no certificate');
});
urls.after(({ folder }) => folder[Symbol.asyncDispose]());

const read = (rest: string) => parseDatabaseUrl(`postgres://me:hunter2@${rest}`);

const faultOf = (url: string): string => {
  try {
    parseDatabaseUrl(url);
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    throw error;
  }
  return 'no fault';
};

urls('reads several hosts, each with its port', () => {
  const login = { user: 'me', password: 'hunter2', database: 'db', tls: { mode: 'prefer' } };

  assert.equal(read('h1:5432,h2:5433/db'), {
    ...login,
    host: 'h1',
    port: 5432,
    fallbackHosts: [{ host: 'h2', port: 5433 }],
  });
  assert.equal(read('h1,[::1]:5433,h3/db').fallbackHosts, [
    { host: '::1', port: 5433 },
    { host: 'h3', port: 5432 },
  ]);
  assert.equal(parseDatabaseUrl('postgres:///db?user=me&password=hunter2&host=h1,h2&port=6000'), {
    ...login,
    host: 'h1',
    port: 6000,
    fallbackHosts: [{ host: 'h2', port: 6000 }],
  });
  assert.is(read('/db?host=[::1]').host, '::1');
  assert.equal(read('/db?host=h1,h2&port=6000,6001').fallbackHosts, [{ host: 'h2', port: 6001 }]);
});

urls('keeps the port of a Unix socket, which never has TLS', () => {
  assert.equal(read('localhost:6000/db?host=/run/pg&sslmode=require'), {
    host: '/run/pg',
    port: 6000,
    user: 'me',
    password: 'hunter2',
    database: 'db',
  });
  assert.is(read('%2Frun%2Fpg/db').host, '/run/pg');
});

urls('reads session settings', () => {
  const session = read(
    'h/db?target_session_attrs=read-write&application_name=a%20b&connect_timeout=3&options=-c%20a=1+2',
  );

  assert.is(session.targetSession, 'read-write');
  assert.is(session.applicationName, 'a b');
  assert.is(session.connectTimeoutMs, 3000);
  assert.is(session.startupOptions, '-c a=1+2');
  assert.is(read('h/db?target_session_attrs=any').targetSession, undefined);
});

urls('reads sslmode as libpq does', ({ folder }) => {
  const ca = folder.join('ca.pem');
  const client = { certificate: folder.join('client.pem'), key: folder.join('client.key') };

  assert.equal(read('h/db').tls, { mode: 'prefer' });
  assert.is(read('h/db?sslmode=disable').tls, undefined);
  assert.equal(read('h/db?sslmode=require').tls, { mode: 'require' });
  assert.equal(read(`h/db?sslmode=require&sslrootcert=${ca}`).tls, {
    mode: 'verify-ca',
    rootCertificate: ca,
  });
  assert.equal(read(`h/db?sslmode=verify-full&sslrootcert=${ca}`).tls, {
    mode: 'verify-full',
    rootCertificate: ca,
  });
  assert.equal(read('h/db?sslrootcert=system').tls, { mode: 'verify-full', rootCertificate: 'system' });
  assert.equal(
    read(`h/db?sslmode=require&sslcert=${client.certificate}&sslkey=${client.key}`).tls?.client,
    client,
  );
});

urls('refuses unsupported parameters by name, without the value', ({ folder }) => {
  const ca = folder.join('ca.pem');
  const certificate = folder.join('client.pem');
  const faults: [rest: string, fault: string][] = [
    ['h/db?sslmod=require', 'has parameters that are not supported: sslmod'],
    ['h/db?channel_binding=hunter2&a=1', 'has parameters that are not supported: channel_binding, a'],
    ['h/db?sslmode=hunter2', 'sslmode must be disable, prefer, require, verify-ca or verify-full'],
    ['h/db?sslmode=allow', 'sslmode must be disable, prefer, require, verify-ca or verify-full'],
    ['h/db?sslmode=require&sslmode=disable', 'has the parameter sslmode twice'],
    ['h/db?sslmode=verify-full', 'sslrootcert must be set with sslmode=verify-full: a file, or system'],
    ['h/db?sslrootcert=hunter2', 'sslrootcert and sslcert need sslmode=require, verify-ca or verify-full'],
    ['h/db?sslmode=require&sslrootcert=system', 'sslrootcert=system needs sslmode=verify-full'],
    ['h/db?sslmode=verify-ca&sslrootcert=/hunter2', 'sslrootcert cannot be read (no such file or directory)'],
    [
      `h/db?sslmode=verify-ca&sslrootcert=${folder.join('text')}`,
      'sslrootcert must be a file of PEM certificates',
    ],
    [`h/db?sslmode=require&sslcert=${certificate}`, 'sslcert and sslkey must be set together'],
    [
      `h/db?sslmode=require&sslcert=${certificate}&sslkey=${ca}`,
      'sslkey must be a PEM private key without a password',
    ],
    [
      `h/db?sslmode=require&sslcert=${certificate}&sslkey=${folder.join('other.key')}`,
      'sslkey is not the key of sslcert',
    ],
    [
      'h/db?target_session_attrs=standby',
      'target_session_attrs must be any, read-write or primary, since the service writes',
    ],
    ['h/db?connect_timeout=0', 'connect_timeout must be 1 to 300 (seconds)'],
    ['h/db?connect_timeout=hunter2', 'connect_timeout must be 1 to 300 (seconds)'],
    ['h1:1,h2:2/db?port=1,2,3', 'must have one port, or one for each host'],
    ['h:0/db', 'port must be 1 to 65535'],
    ['h:99999/db', 'port must be 1 to 65535'],
    ['/run/pg,h/db?host=/run/pg,h2', 'can name one Unix socket, or several hosts'],
    ['h/', 'must end in the name of a database'],
    ['h/d%zb', 'must be correctly percent-encoded, and without %00'],
    ['h/d%00b', 'must be correctly percent-encoded, and without %00'],
  ];

  for (const [rest, fault] of faults) assert.is(faultOf(`postgres://me:hunter2@${rest}`), fault, rest);
  assert.is(faultOf('mysql://me:hunter2@h/db'), 'must start with postgres://');
  for (const reserved of ['/', '?', '#'])
    assert.not.match(faultOf(`postgres://me:hunter2${reserved}hunter3@h/db`), /hunter/);
});

urls.run();
