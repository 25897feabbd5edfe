import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { Mailer } from '../../../src/adapters/mail/mailer.ts';
import { createSmtpMailer } from '../../../src/adapters/mail/smtp-mailer.ts';
import { html } from '../../../src/lib/html.ts';
import { isMailAddress, oneLine } from '../../../src/services/mail/mail-layout.ts';
import { anyCharacter } from '../../support/any-character.ts';
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

/** Any text, mixed with typical attacks. */
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...ATTACKS), fc.string({ unit: anyCharacter, maxLength: 20 })), {
    maxLength: 4,
  })
  .map((parts) => parts.join(''));

const facts = fc
  .record({
    client_name: hostile,
    invitation_subject: hostile,
    invitation_body: hostile,
    default_from_email: fc.oneof(hostile, fc.constant('no-reply@acme.test')),
    support_email: hostile,
    app_labels: fc.array(hostile, { maxLength: 3 }),
    first_name: hostile,
  })
  .chain((texts) =>
    fc.constantFrom(
      invitationContext(texts),
      passwordContext('password-reset', texts),
      passwordContext('password-setup', texts),
    ),
  );

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
  await fc.assert(
    fc.asyncProperty(facts, async (written) => {
      server.taken.length = 0;
      const mail = testWriter.write(written);

      assert.equal(await mailer.send(mail), { outcome: 'taken' });
      const [taken, ...others] = server.taken;
      if (!taken) return assert.unreachable();
      assert.is(others.length, 0);
      assert.ok(
        ['no-reply@acme.test', MAIL_FROM].includes(mail.from.address) || isMailAddress(mail.from.address),
      );
      await hasOnlyWhatIsMeant(taken, mail);
    }),
    { seed: 1, numRuns: 60 },
  );
});

const TAGS = /<[^>]*>/g;

attacks('adds no markup to the HTML', () => {
  const tagsOf = (text: string) => text.match(TAGS) ?? [];

  fc.assert(
    fc.property(hostile, (text) => {
      const markup = html`<p title="${text}">${text}</p>`.toString();
      assert.equal(tagsOf(markup).length, 2);
      assert.is(markup.split('"').length, 3);
    }),
    { seed: 1 },
  );
  fc.assert(
    fc.property(hostile, (name) => {
      // The HTML must have the same tags as with a harmless name.
      const written = testWriter.write(invitationContext({ client_name: name }));
      const plain = testWriter.write(invitationContext({ client_name: 'Acme' }));
      assert.equal(tagsOf(written.html).length, tagsOf(plain.html).length);
      assert.is(oneLine(name).includes('\n'), false);
    }),
    { seed: 1 },
  );
});

attacks.run();
