import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../src/config/config.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { settingsFaults } from '../support/rejects.ts';

const config = suite('settings');

config('has the documented defaults', () => {
  const read = readConfig({});

  assert.is(read.port, 8000);
  assert.is(read.host, '127.0.0.1');
  assert.is(read.baseUrl, 'http://localhost:8000');
  assert.match(read.dataDir, /\/\.steward$/);
  assert.match(read.appStore.kind === 'folder' ? read.appStore.dir : '', /\/\.steward\/packages$/);
  assert.is(read.adminEmail, 'admin@localhost');
  assert.equal([read.environment, read.uploadBucketName], ['development', 'steward-uploads']);
  assert.equal([read.tokenIdleDays, read.invitationMs, read.demo], [90, 14 * DAY_MS, false]);
});

config('takes an IPv6 address to listen on with or without brackets', () => {
  for (const address of ['[::1]', '::1']) {
    const { host, metricsHost } = readConfig({ HOST: address, METRICS_HOST: address });

    assert.equal([host, metricsHost], ['::1', '::1']);
  }
});

config('refuses a mail server whose login is not percent-encoded', () => {
  for (const login of ['me:100%', '50%zz:secret', 'me%:25x'])
    assert.equal(settingsFaults({ SMTP_URL: `smtp://${login}@mail.test` }), [
      'SMTP_URL: must have `%25` for each `%` in the user and password',
    ]);

  assert.equal(settingsFaults({ SMTP_URL: 'smtp://me:100%25@mail.test' }), []);
});

config('reports all errors at once, and never repeats a value', () => {
  const faults = settingsFaults({
    PORT: '80a',
    BASE_URL: 'ftp://host',
    DATABASE_URL: 'mysql://me:hunter2@host/db',
    SECRET_KEY: 'short-secret',
    ADMIN_EMAIL: 'not an address',
    APP_STORE: 'nfs:/x',
    DEMO: 'maybe',
  });

  assert.equal(
    faults.map((line) => line.split(':')[0]),
    ['PORT', 'BASE_URL', 'DATABASE_URL', 'SECRET_KEY', 'ADMIN_EMAIL', 'DEMO', 'APP_STORE'].sort(
      (a, b) => faults.findIndex((f) => f.startsWith(a)) - faults.findIndex((f) => f.startsWith(b)),
    ),
  );
  assert.is(faults.length, 7);
  assert.not.match(faults.join(), /hunter2|short-secret/);
});

config('APP_URL must be a URL with a placeholder for the app', () => {
  const urlOf = (APP_URL: string) => readConfig({ APP_URL }).appUrl;

  assert.is(urlOf('https://data.example.com/{slug}/'), 'https://data.example.com/{slug}/');
  assert.is(urlOf('/open/{id}'), '/open/{id}');
  assert.equal(settingsFaults({ APP_URL: 'https://data.example.com/' }), [
    'APP_URL: must contain {slug} or {id}',
  ]);
  for (const url of ['javascript:{id}', '//evil.test/{id}', 'data.example.com/{id}']) {
    assert.equal(settingsFaults({ APP_URL: url }), [
      'APP_URL: must be an http:// or https:// URL, or a path',
    ]);
  }
});

config('requires an address with passkeys if staff need one', () => {
  const STAFF_SECOND_FACTOR = 'passkey';
  for (const BASE_URL of [undefined, 'https://steward.example.com'])
    assert.is(readConfig({ STAFF_SECOND_FACTOR, BASE_URL }).staffSecondFactor, 'passkey');
  for (const BASE_URL of ['http://steward.example.com', 'https://192.0.2.7'])
    assert.equal(settingsFaults({ STAFF_SECOND_FACTOR, BASE_URL }), [
      'STAFF_SECOND_FACTOR: passkey needs a BASE_URL with https and a host name, or localhost',
    ]);
});

config('names sinks of events without credentials in their URLs', () => {
  const { sinks } = readConfig({
    EVENT_FILE: '/var/log/events.jsonl',
    EVENT_SYSLOG_URL: 'syslog+tls://[2001:db8::1]',
    EVENT_HTTP_URL: 'https://logs.test/ingest?x=1',
  });

  assert.is(sinks.file, '/var/log/events.jsonl');
  assert.equal(sinks.syslog, { host: '2001:db8::1', port: 6514, isEncrypted: true });
  assert.is(sinks.http, 'https://logs.test/ingest?x=1');
  assert.equal(readConfig({ EVENT_SYSLOG_URL: 'syslog+tcp://logs.test:10514' }).sinks.syslog, {
    host: 'logs.test',
    port: 10_514,
    isEncrypted: false,
  });
  assert.is(readConfig({ EVENT_HTTP_URL: 'http://127.0.0.1:8080/' }).sinks.http, 'http://127.0.0.1:8080/');
  const login = 'must not hold a user or a password';
  for (const [name, value, fault] of [
    ['EVENT_SYSLOG_URL', 'syslog+tls://me:hunter2@logs.test', `${login}: syslog has none`],
    ['EVENT_SYSLOG_URL', 'syslog+tls://', 'must be syslog+tls://HOST:PORT or syslog+tcp://HOST:PORT'],
    ['EVENT_SYSLOG_URL', 'udp://logs.test', 'must be syslog+tls://HOST:PORT or syslog+tcp://HOST:PORT'],
    ['EVENT_SYSLOG_URL', 'syslog+tls://logs.test/?token=hunter2', 'must end after the host and the port'],
    ['EVENT_HTTP_URL', 'https://hunter2@logs.test/', `${login}: set EVENT_HTTP_AUTHORIZATION_FILE to a file`],
    ['EVENT_HTTP_URL', 'http://logs.test/', 'must be an https:// URL; http:// is for this machine only'],
    ['EVENT_HTTP_URL', 'logs.test', 'must be an https:// URL'],
    ['EVENT_CERTIFICATE_FILE', '/client.pem', 'needs EVENT_KEY_FILE, and the other way round'],
  ] as const)
    assert.equal(settingsFaults({ [name]: value }), [`${name}: ${fault}`]);
});

config('requires a secret key with an external database', () => {
  assert.equal(settingsFaults({ DATABASE_URL: 'postgres://u:p@h/db' }), [
    'SECRET_KEY: is required with DATABASE_URL',
  ]);
  assert.equal(settingsFaults({ DATABASE_URL: 'postgres://u:p@h/db', SECRET_KEY: 'k'.repeat(32) }), []);
});

config('reads a database URL, including a Unix socket', () => {
  const read = (url: string) => readConfig({ DATABASE_URL: url, SECRET_KEY: 'k'.repeat(32) }).database;

  assert.equal(read('postgres://me:p%40ss@db.test:6000/steward'), {
    host: 'db.test',
    port: 6000,
    user: 'me',
    password: 'p@ss',
    database: 'steward',
    tls: { mode: 'prefer' },
  });
  assert.is(read('postgresql://me@localhost/steward?host=/run/pg')?.host, '/run/pg');
  assert.is(read('postgres://me:p@/steward?host=/run/pg')?.host, '/run/pg');
});

const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

config('has traces if a collector is named, and they are not disabled', () => {
  const read = readConfig({
    ...COLLECTOR,
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
  });

  assert.is(read.tracing?.sampler, 'traceidratio');
  assert.is(read.tracing?.samplingRatio, 0.25);
  assert.is(read.tracing?.protocol, 'http/protobuf');
  assert.is.not(readConfig({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/v1/traces' }).tracing, null);
  assert.is(readConfig({}).tracing, null);
  assert.is(readConfig({ ...COLLECTOR, OTEL_SDK_DISABLED: 'True' }).tracing, null);
  assert.is(readConfig({ ...COLLECTOR, OTEL_TRACES_EXPORTER: 'none' }).tracing, null);
});

config('checks the settings of traces only if there are any', () => {
  const unsupported = {
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_EXPORTER: 'console',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_TRACES_SAMPLER_ARG: '1.5',
  };

  assert.equal(settingsFaults(unsupported), []);
  assert.equal(
    settingsFaults({ ...unsupported, ...COLLECTOR }).map((line) => line.split(':')[0]),
    Object.keys(unsupported),
  );
  assert.equal(
    settingsFaults({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }).map((line) => line.split(':')[0]),
    ['OTEL_EXPORTER_OTLP_ENDPOINT'],
  );
});

config('writes BASE_URL as browsers send it', () => {
  const read = (url: string) => readConfig({ BASE_URL: url }).baseUrl;

  assert.is(read('https://München.test:443/ä/'), 'https://xn--mnchen-3ya.test/%C3%A4');
  assert.is(read('http://localhost:8000/steward'), 'http://localhost:8000/steward');
});

config('treats an empty setting as missing', () => {
  assert.is(readConfig({ PORT: '', BASE_URL: '' }).port, 8000);
});

config.run();
