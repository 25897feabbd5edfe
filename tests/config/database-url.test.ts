import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseDatabaseUrl } from '../../src/config/database-url.ts';

const urls = suite('parseDatabaseUrl');

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

urls('reads the address and the login, which parameters replace', () => {
  const login = { user: 'me', password: 'hunter2', database: 'db', tls: { mode: 'prefer' } };

  assert.equal(read('h/db'), { ...login, host: 'h', port: 5432 });
  assert.equal(read('[::1]:5433/db'), { ...login, host: '::1', port: 5433 });
  assert.equal(read('h:5433/x?host=[::1]&port=6000&user=you&password=a%20+&dbname=d%2Fb'), {
    ...{ host: '::1', port: 6000, user: 'you', password: 'a +', database: 'd/b' },
    tls: { mode: 'prefer' },
  });
  assert.equal(parseDatabaseUrl('postgresql:///db'), {
    ...login,
    ...{ host: 'localhost', port: 5432, user: 'postgres', password: '' },
  });
  assert.is(parseDatabaseUrl('postgres://me:a%2Fb%40c:d@e@h/db').password, 'a/b@c:d@e');
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
  const session = read('h/db?application_name=a%20b&connect_timeout=3&options=-c%20a=1+2');

  assert.is(session.applicationName, 'a b');
  assert.is(session.connectTimeoutMs, 3000);
  assert.is(session.startupOptions, '-c a=1+2');
});

urls('reads sslmode as libpq does', () => {
  const ca = '/etc/ca.pem';
  const client = { certificate: '/etc/client.pem', key: '/etc/client.key' };

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

urls('refuses unsupported parameters by name, without the value', () => {
  const faults: [rest: string, fault: string][] = [
    ['h/db?sslmod=require', 'has parameters that are not supported: sslmod'],
    ['h/db?channel_binding=hunter2&a=1', 'has parameters that are not supported: channel_binding, a'],
    ['h/db?sslmode=hunter2', 'sslmode must be disable, prefer, require, verify-ca or verify-full'],
    ['h/db?sslmode=allow', 'sslmode must be disable, prefer, require, verify-ca or verify-full'],
    ['h/db?sslmode=verify-full', 'sslrootcert must be set with sslmode=verify-full: a file, or system'],
    ['h/db?sslrootcert=hunter2', 'sslrootcert and sslcert need sslmode=require, verify-ca or verify-full'],
    ['h/db?sslmode=require&sslrootcert=system', 'sslrootcert=system needs sslmode=verify-full'],
    ['h/db?sslmode=require&sslcert=/hunter2', 'sslcert and sslkey must be set together'],
    ['h/db?connect_timeout=0', 'connect_timeout must be 1 to 300 (seconds)'],
    ['h/db?connect_timeout=hunter2', 'connect_timeout must be 1 to 300 (seconds)'],
    ['h:0/db?user=', 'port must be 1 to 65535; user must not be empty'],
    ['h/', 'must end in the name of a database'],
  ];

  for (const [rest, fault] of faults) assert.is(faultOf(`postgres://me:hunter2@${rest}`), fault, rest);
  assert.is(faultOf('mysql://me:hunter2@h/db'), 'must start with postgres://');
});

urls('refuses several hosts, and says what to do instead', () => {
  const several = [
    'h1,h2/db',
    'h1:5432,h2:5433/db',
    '/db?host=h1,h2',
    'h/db?port=1,2',
    'h/db?target_session_attrs=primary',
  ];

  for (const rest of several)
    assert.match(faultOf(`postgres://me:hunter2@${rest}`), /^must name one host; put HAProxy, /, rest);
  assert.is(parseDatabaseUrl('postgres://me:a,b@h/db').password, 'a,b');
});

urls('refuses what has another form, without the password', () => {
  for (const reserved of ['/', '?', '#', '%', ' ', '%00'])
    for (const password of [`hunter2${reserved}hunter3`, `12${reserved}hunter3`])
      assert.match(
        faultOf(`postgres://me:${password}@h/db`),
        /^must have the form postgres:(?!.*hunter).* must be percent-encoded$/,
      );
  for (const rest of ['h:99999/db', 'h:port/db', '::1/db', 'h/db#x', 'h/d%zb', 'h/d%ffb'])
    assert.match(faultOf(`postgres://me:hunter2@${rest}`), /^must have the form postgres:(?!.*hunter)/, rest);
});

urls.run();
