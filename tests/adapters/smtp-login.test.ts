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

for (const [outcome, command, response] of [
  ['refused', 'RCPT TO', '550 5.1.1 The email account that you tried to reach does not exist'],
  ['refused', 'RCPT TO', '550 no such user'],
  ['refused', 'RCPT TO', '553-5.1.2 We could not find the domain\n553 5.1.2 of the recipient'],
  ['refused', 'RCPT TO', '556 5.1.10 Recipient address has null MX'],
  ['refused', 'RCPT TO', '550 5.2.1 The email account is disabled'],
  ['refused', 'DATA', '552 5.2.2 Mailbox full'],
  ['failed', 'RCPT TO', '554 5.7.1 <ada@guest.test>: Relay access denied'],
  ['failed', 'RCPT TO', '550 5.7.1 Service unavailable; greylisted, try again later'],
  ['failed', 'RCPT TO', '550 5.4.5 Daily user sending limit exceeded'],
  ['failed', 'RCPT TO', '553 5.1.8 <no-reply@acme.test>: Sender address rejected: Domain not found'],
  ['failed', 'RCPT TO', '530 Must issue a STARTTLS command first'],
  ['failed', 'RCPT TO', '450 no such user'],
  ['failed', 'DATA', '550 5.7.60 SMTP; Client does not have permissions to send as this sender'],
  ['failed', 'DATA', '554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException'],
  ['failed', 'DATA', '554 Message rejected'],
  ['failed', 'MAIL FROM', '550 5.1.1 no such sender'],
] as const)
  login(`a mail is ${outcome} after ${response.slice(0, 50)} to ${command}`, () => {
    const error = Object.assign(new Error(response), {
      command,
      response,
      responseCode: Number(response.slice(0, 3)),
    });

    assert.is(deliveryOfFailure(error, readSmtpUrl('smtp://mail.test')).outcome, outcome);
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
