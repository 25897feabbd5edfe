import * as assert from 'uvu/assert';
import type { Delivery, Mail } from '../../src/adapters/mail/mailer.ts';
import { createSmtpMailer } from '../../src/adapters/mail/smtp-mailer.ts';
import { type Fault, parseMail, startSmtpServer } from '../support/smtp-server.ts';
import { suiteWith } from '../support/suite.ts';

const MAIL: Mail = {
  messageId: 'steward.7.abc@acme.test',
  date: new Date('2026-11-21T12:00:00.000Z'),
  from: { name: 'Acme, "Analytics" <Ünïcode>', address: 'no-reply@acme.test' },
  to: 'ada@guest.test',
  subject:
    'Grüße, and a line that is long enough to be folded by the library that writes the header of this mail',
  text: 'Hello,\n\n.a line that begins with a dot\nhttps://steward.test/invitation/KEY/?signature=SIGNATURE\n',
  html: '<p>Hello</p>',
  headers: { 'X-Note': 'as written' },
};

type Stage = 'connect' | 'sender' | 'recipient' | 'message';
type Timeouts = Parameters<typeof createSmtpMailer>[0]['timeoutsMs'];

const smtp = suiteWith(
  'SMTP mailer',
  async () => ({}),
  async (started) => ({ server: started.use(await startSmtpServer()) }),
);

const sendTo = async (url: string, timeoutsMs: Timeouts = {}): Promise<Delivery> => {
  const mailer = createSmtpMailer({ url, concurrency: 2, timeoutsMs });
  try {
    return await mailer.send(MAIL);
  } finally {
    mailer.close();
  }
};

smtp('sends text and HTML exactly as written', async ({ server }) => {
  assert.equal(await sendTo(server.url), { outcome: 'taken' });

  const [taken] = server.taken;
  if (!taken) return assert.unreachable();
  const { headers, from, to, subject, text, html, messageId, date } = await parseMail(taken);
  assert.equal([taken.from, taken.to], ['no-reply@acme.test', ['ada@guest.test']]);
  assert.equal(from, { name: MAIL.from.name, address: MAIL.from.address });
  assert.equal(to, [{ name: '', address: MAIL.to }]);
  assert.is(subject, MAIL.subject);
  assert.is(text?.trimEnd(), MAIL.text.trimEnd());
  assert.is(html?.trim(), MAIL.html);
  assert.is(messageId, '<steward.7.abc@acme.test>');
  assert.is(date, '2026-11-21T12:00:00.000Z');
  assert.equal(headers.map(({ key }) => key).sort(), [
    'content-type',
    'date',
    'from',
    'message-id',
    'mime-version',
    'subject',
    'to',
    'x-note',
  ]);
  const headerOf = (key: string) => headers.find((header) => header.key === key)?.value;
  assert.match(headerOf('content-type') ?? '', /^multipart\/alternative/);
  assert.is(headerOf('x-note'), 'as written');
});

/** What the server does at a stage → how the delivery ends, and why. */
const FAULTS: [Stage, Fault, outcome: string, cause: string, timeoutsMs?: Timeouts][] = [
  ['connect', { status: 554 }, 'failed', 'other'],
  ['connect', 'hang', 'failed', 'timeout', { greeting: 100 }],
  ['sender', { status: 550 }, 'failed', 'sender'],
  ['sender', 'hang', 'failed', 'timeout', { socket: 100 }],
  ['recipient', { status: 550 }, 'refused', 'recipient'],
  ['recipient', { status: 450 }, 'failed', 'recipient'],
  ['message', { status: 554 }, 'failed', 'message'],
  ['message', 'hang', 'failed', 'timeout', { mail: 300 }],
];

for (const [stage, fault, outcome, cause, timeoutsMs] of FAULTS) {
  smtp(`${outcome} by ${cause} after ${JSON.stringify(fault)} at ${stage}`, async ({ server }) => {
    server.faults[stage] = () => fault;
    const delivery = await sendTo(server.url, timeoutsMs);

    assert.equal([delivery.outcome, 'cause' in delivery && delivery.cause], [outcome, cause]);
  });
}

smtp('fails if no server listens', async () => {
  const gone = await startSmtpServer();
  await gone.close();

  const delivery = await sendTo(gone.url);

  assert.equal([delivery.outcome, 'cause' in delivery && delivery.cause], ['failed', 'connection']);
});

smtp('fails if the response is lost, and sends the same message id again', async ({ server }) => {
  server.faults.message = () => 'die';
  assert.is((await sendTo(server.url)).outcome, 'failed');
  server.faults.message = () => undefined;
  assert.is((await sendTo(server.url)).outcome, 'taken');

  // Sent once: the pool itself does not retry.
  assert.is(server.taken.length, 2);
  const ids = await Promise.all(server.taken.map(async (mail) => (await parseMail(mail)).messageId));
  assert.equal(ids, ['<steward.7.abc@acme.test>', '<steward.7.abc@acme.test>']);
});

smtp('opens at most `concurrency` connections, and none after it is closed', async ({ server }) => {
  const mailer = createSmtpMailer({ url: server.url, concurrency: 3 });
  const deliveries = await Promise.all(Array.from({ length: 30 }, () => mailer.send(MAIL)));
  mailer.close();

  assert.ok(deliveries.every(({ outcome }) => outcome === 'taken'));
  assert.is(server.peak(), 3);
  assert.is((await mailer.send(MAIL)).outcome, 'failed');
  assert.is(server.taken.length, 30);
});

smtp.run();
