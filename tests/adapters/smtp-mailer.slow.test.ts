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

/** Only failures have a reason. */
const reasonOf = (delivery: Delivery): string => ('reason' in delivery ? delivery.reason : '');

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

smtp('fails if no server listens, or it does not greet or respond', async ({ server }) => {
  const gone = await startSmtpServer();
  await gone.close();
  assert.is((await sendTo(gone.url)).outcome, 'failed');

  server.faults.connect = () => 'hang';
  assert.match(reasonOf(await sendTo(server.url, { greeting: 100 })), /greeting/i);
  server.faults.connect = () => undefined;
  server.faults.sender = () => 'hang';
  assert.match(reasonOf(await sendTo(server.url, { socket: 100 })), /timeout/i);
  server.faults.sender = () => undefined;
  server.faults.message = () => 'hang';
  assert.match(reasonOf(await sendTo(server.url, { mail: 100 })), /abort/i);
});

const status = (code: number) => (): Fault => ({ status: code });

smtp('fails permanently only after a 5xx to the recipient', async ({ server }) => {
  const outcomeOf = async (stage: 'sender' | 'recipient' | 'message' | 'connect', code: number) => {
    for (const each of ['sender', 'recipient', 'message', 'connect'] as const) delete server.faults[each];
    server.faults[stage] = status(code);
    return (await sendTo(server.url)).outcome;
  };

  assert.is(await outcomeOf('recipient', 550), 'refused');
  for (const [stage, code] of [
    ['recipient', 450],
    ['message', 554],
    ['sender', 550],
    ['connect', 554],
  ] as const) {
    assert.is(await outcomeOf(stage, code), 'failed', `${stage} ${code}`);
  }
  assert.is(server.taken.length, 0);
});

smtp('names the cause of a failure', async ({ server }) => {
  const causeAfter = async (timeoutsMs: Timeouts = {}, url = server.url) => {
    const delivery = await sendTo(url, timeoutsMs);
    for (const stage of ['sender', 'recipient', 'message', 'connect'] as const) delete server.faults[stage];
    return 'cause' in delivery ? delivery.cause : delivery.outcome;
  };
  const gone = await startSmtpServer();
  await gone.close();
  assert.is(await causeAfter({}, gone.url), 'connection');

  for (const stage of ['sender', 'recipient', 'message'] as const) {
    server.faults[stage] = status(550);
    assert.is(await causeAfter(), stage);
  }
  server.faults.connect = () => 'hang';
  assert.is(await causeAfter({ greeting: 100 }), 'timeout');
  server.faults.message = () => 'hang';
  assert.is(await causeAfter({ mail: 300 }), 'timeout');
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

smtp('aborts a mail in flight when it is closed', async ({ server }) => {
  server.faults.sender = () => 'hang';
  const mailer = createSmtpMailer({ url: server.url, concurrency: 1 });
  const sending = mailer.send(MAIL);
  const poll = setInterval(() => server.peak() > 0 && mailer.close(), 20);

  assert.is((await sending).outcome, 'failed');

  clearInterval(poll);
});

smtp.run();
