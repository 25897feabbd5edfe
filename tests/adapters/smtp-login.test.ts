import tls from 'node:tls';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSmtpMailer, deliveryOfFailure, readSmtpUrl } from '../../src/adapters/mail/smtp-mailer.ts';
import { anyCharacter } from '../support/any-character.ts';
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../support/certificates.ts';
import { startSmtpServer } from '../support/smtp-server.ts';

const MAIL = {
  messageId: 'steward.1.abc@acme.test',
  date: new Date(0),
  from: { name: 'Acme', address: 'no-reply@acme.test' },
  to: 'ada@guest.test',
  subject: 'Hello',
  text: 'Hello',
  html: '<p>Hello</p>',
  headers: {},
};
const USER = 'mail user@acme.test';
const PASSWORD = 'p@ss:w/o%rd é';
const LOGIN = `${encodeURIComponent(USER)}:${encodeURIComponent(PASSWORD)}`;
const CERTIFIED = { key: TEST_CERTIFICATE_KEY, cert: TEST_CERTIFICATE };

const sendTo = async (url: string) => {
  const mailer = createSmtpMailer({ url, concurrency: 1 });
  const delivery = await mailer.send(MAIL);
  mailer.close();
  return { reason: '', ...delivery };
};

const login = suite('SMTP mailer: login and TLS');

login('logs in with the percent-decoded credentials of the URL', async () => {
  const seen: unknown[] = [];
  const server = await startSmtpServer({
    disabledCommands: ['STARTTLS'],
    authOptional: false,
    onAuth: ({ username, password }, _session, callback) => {
      seen.push([username, password]);
      callback(null, { user: username });
    },
  });

  const { outcome } = await sendTo(server.url.replace('//', `//${LOGIN}@`));
  await server.close();

  assert.is(outcome, 'taken');
  assert.equal(seen, [[USER, PASSWORD]]);
});

login('fails temporarily if the login is refused, without revealing credentials', async () => {
  const server = await startSmtpServer({ disabledCommands: ['STARTTLS'], authOptional: false });
  server.faults.login = () => ({ status: 535, text: `no ${USER} with ${PASSWORD}` });

  const delivery = await sendTo(server.url.replace('//', `//${LOGIN}@`));
  await server.close();

  assert.equal(delivery, {
    outcome: 'failed',
    cause: 'login',
    reason: 'The mail server refused the login (535).',
  });
});

login('removes secrets and links from responses of the server', () => {
  const server = readSmtpUrl(`smtp://${LOGIN}@mail.test`);
  const key = 'kGq3vY0pZ1aBcDeFgHiJkLmNoPqRsTuV';
  const encoded = Buffer.from(`\0${USER}\0${PASSWORD}`).toString('base64');
  const secrets = [USER, PASSWORD, encoded, key];
  const anything = fc.array(fc.oneof(fc.constantFrom(...secrets), fc.string({ unit: anyCharacter })));

  fc.assert(
    fc.property(anything, fc.constantFrom('RCPT TO', 'DATA', 'MAIL FROM', 'CONN'), (parts, command) => {
      const error = Object.assign(new Error(parts.join(' ')), { command, responseCode: 550 });
      const delivery = deliveryOfFailure(error, server);
      const reason = 'reason' in delivery ? delivery.reason : '';

      for (const secret of secrets) assert.not.ok(reason.includes(secret), secret);
      assert.ok(reason.length <= 500);
      assert.not.match(reason, /\p{Cc}/u);
    }),
  );
  const spam = new Error(`554 blocked: https://steward.test/invitation/${key}/?signature=abc see`);
  assert.equal(deliveryOfFailure(spam, server), {
    outcome: 'failed',
    cause: 'other',
    reason: '554 blocked: https://steward.test/[…] see',
  });
});

login('reads host, port and TLS mode of the URL', () => {
  const read = (url: string) => {
    const { host, port, isSecure } = readSmtpUrl(url);
    return [host, port, isSecure];
  };

  assert.equal(read('smtp://mail.test'), ['mail.test', undefined, false]);
  assert.equal(read('smtps://a:b@mail.test:4650'), ['mail.test', 4650, true]);
  assert.equal(read('smtp://[::1]:25'), ['::1', 25, false]);
});

for (const { name, scheme, options } of [
  { name: 'smtps', scheme: 'smtps', options: { secure: true } },
  { name: 'STARTTLS, where it is offered', scheme: 'smtp', options: { disabledCommands: ['AUTH'] } },
]) {
  login(`uses TLS by ${name}, and refuses an untrusted certificate`, async () => {
    const known = tls.getCACertificates('default');
    let secured = 0;
    const server = await startSmtpServer({
      ...CERTIFIED,
      ...options,
      onSecure: (_socket, _session, callback) => {
        secured += 1;
        callback();
      },
    });
    const url = `${scheme}://localhost:${server.port}`;

    const doubted = await sendTo(url);
    const takenInDoubt = server.taken.length;
    tls.setDefaultCACertificates([...known, TEST_CERTIFICATE]);
    const trusted = await sendTo(url);
    tls.setDefaultCACertificates(known);
    await server.close();

    assert.is(doubted.outcome, 'failed');
    assert.match(doubted.reason, /self.signed/);
    assert.is(takenInDoubt, 0);
    assert.is(trusted.outcome, 'taken', trusted.reason);
    assert.ok(secured > 0);
  });
}

login.run();
