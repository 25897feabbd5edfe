import * as assert from 'uvu/assert';
import type { Mailer } from '../../../src/adapters/mail/mailer.ts';
import { createSmtpMailer } from '../../../src/adapters/mail/smtp-mailer.ts';
import { isMailAddress, oneLine } from '../../../src/services/mail/mail-layout.ts';
import { invitationContext, MAIL_FROM, passwordContext, testWriter } from '../../support/mails.ts';
import {
  parseMail,
  startSmtpServer,
  type TakenMail,
  type TestSmtpServer,
} from '../../support/smtp-server.ts';
import { suite } from '../../support/suite.ts';

const HEADERS = [
  'auto-submitted',
  'content-type',
  'date',
  'from',
  'message-id',
  'mime-version',
  'subject',
  'to',
  'x-auto-response-suppress',
];
const ATTACKS = [
  '\r\nBcc: victim@evil.test',
  '\nTo: victim@evil.test\n\nbody',
  '\r\n.\r\nMAIL FROM:<evil@evil.test>\r\n',
  '\u2028Bcc: victim@evil.test',
  'victim@evil.test, other@evil.test',
  '"Acme" <victim@evil.test>',
  'a@b.test>\r\nRCPT TO:<victim@evil.test',
  'group: victim@evil.test;',
  '=?utf-8?q?x=0D=0ABcc:victim@evil.test?=',
  '--boundary\r\nContent-Type: text/html\r\n\r\n<script>alert(1)</script>',
  '<script>alert(1)</script><a href="https://evil.test">',
  '" onmouseover="alert(1)',
  '\0\u0007\u202e\ud800',
];

const mailsWith = (text: string) => {
  const texts = {
    client_name: text,
    invitation_subject: text,
    invitation_body: text,
    default_from_email: text,
    support_email: text,
    app_labels: [text],
    first_name: text,
  };
  return [
    invitationContext(texts),
    passwordContext('password-reset', texts),
    passwordContext('password-setup', texts),
  ];
};

const hasOnlyWhatIsMeant = async (taken: TakenMail, mail: ReturnType<typeof testWriter.write>) => {
  const { headers, from, to, subject, text, html: markup, attachments } = await parseMail(taken);
  assert.equal([taken.from, taken.to], [mail.from.address, ['ada@guest.test']]);
  assert.equal(headers.map(({ key }) => key).sort(), HEADERS);
  assert.is(from?.address, mail.from.address);
  assert.equal(to, [{ name: '', address: 'ada@guest.test' }]);
  assert.is(subject?.replace(/\s+/g, ' ').trim(), mail.subject.replace(/\s+/g, ' ').trim());
  assert.is(text?.trimEnd(), mail.text.trimEnd());
  assert.is(markup?.trimEnd(), mail.html.trimEnd());
  assert.is(attachments.length, 0);
};

type Context = { server: TestSmtpServer; mailer: Mailer };
const attacks = suite<Context>('hostile text in mails');

attacks.before(async (context) => {
  context.server = await startSmtpServer();
  context.mailer = createSmtpMailer({ url: context.server.url, concurrency: 1 });
});
attacks.after(async ({ server, mailer }) => {
  mailer.close();
  await server.close();
});

attacks('adds no recipient, header or part', async ({ server, mailer }) => {
  for (const context of ATTACKS.flatMap(mailsWith)) {
    server.taken.length = 0;
    const mail = testWriter.write(context);

    assert.equal(await mailer.send(mail), { outcome: 'taken' });
    const [taken, ...others] = server.taken;
    if (!taken) return assert.unreachable();
    assert.is(others.length, 0);
    assert.ok(
      ['no-reply@acme.test', MAIL_FROM].includes(mail.from.address) || isMailAddress(mail.from.address),
    );
    await hasOnlyWhatIsMeant(taken, mail);
  }
});

const TAGS = /<[^>]*>/g;

attacks('adds no markup to the HTML', () => {
  const countTags = (name: string) =>
    testWriter.write(invitationContext({ client_name: name })).html.match(TAGS)?.length;

  for (const attack of ATTACKS) {
    assert.is(countTags(attack), countTags('Acme'), attack);
    assert.is(oneLine(attack).includes('\n'), false);
  }
});

attacks.run();
