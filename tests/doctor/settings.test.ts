import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../src/config/config.ts';
import { checkSettings } from '../../src/doctor/check-settings.ts';

const SECRET_KEY = 'a secret key that only tests ever use';

const settings = suite('steward doctor: settings');

const messagesFor = (given: Record<string, string>): string[] => {
  const env = { BACKUP_TARGET: 'file:/backups', ...given };
  return checkSettings(readConfig(env), env)
    .filter(({ status }) => status === 'warning')
    .map(({ message, action }) => `${message} ${action}`);
};

settings('variables of other programs are not reported', () => {
  const env = {
    BACKUP_TARGET: 'file:/backups',
    PATH: '/bin',
    MAILCHECK: '60',
    STEWARD_PORT: 'tcp://10.0.0.1:80',
  };

  assert.equal(checkSettings(readConfig(env), env), [
    { status: 'ok', message: 'All settings are valid and consistent.', action: null },
  ]);
});

for (const [contradiction, env, expected] of [
  ['https without TRUST_PROXY', { BASE_URL: 'https://a.example' }, /^BASE_URL is https.* Set TRUST_PROXY/],
  ['http on a public host', { BASE_URL: 'http://a.example', HOST: '0.0.0.0' }, /clear text.* https/],
  ['a public HOST without BASE_URL', { HOST: '0.0.0.0' }, /lead to localhost\. Set BASE_URL/],
  ['demo users in production', { DEMO: '1', ENVIRONMENT: 'production' }, /known\. Remove DEMO/],
  [
    'demo users in an external database',
    { DEMO: '1', DATABASE_URL: 'postgres://u@localhost/x', SECRET_KEY },
    /Remove DEMO/,
  ],
  ['mail from localhost', { SMTP_URL: 'smtp://mail.example' }, /refuse\. Set MAIL_FROM/],
  ['events in clear text', { EVENT_SYSLOG_URL: 'syslog+tcp://logs.example' }, /clear text\. Use syslog\+tls/],
  [
    'metrics on a public address without a token',
    { METRICS_PORT: '9464', METRICS_HOST: '0.0.0.0' },
    /no credentials\. Set METRICS_TOKEN/,
  ],
] as const) {
  settings(`reports ${contradiction}`, () => {
    const messages = messagesFor(env);

    assert.is(messages.length, 1, messages.join('\n'));
    assert.match(messages[0] ?? '', expected);
  });
}

settings('reports that no backups are scheduled', () => {
  assert.match(messagesFor({ BACKUP_TARGET: '' }).join(), /Set BACKUP_TARGET/);
});

settings('accepts a service behind a proxy with TLS', () => {
  assert.equal(messagesFor({ BASE_URL: 'https://a.example', TRUST_PROXY: '1', HOST: '127.0.0.1' }), []);
});

settings('accepts http for names under localhost', () => {
  assert.equal(messagesFor({ BASE_URL: 'http://acme.localhost:8000' }), []);
});

settings.run();
