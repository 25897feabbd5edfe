import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isMailAddress, oneLine, plainText } from '../../../src/services/mail/mail-layout.ts';
import { invitationContext, MAIL_FROM, passwordContext, testWriter } from '../../support/mails.ts';

const LINK = /http:\/\/localhost:8000\/invitation\/KEY\/\?signature=[\w-]{43}/;

const writer = suite('content of mails');

writer('has body, apps, link, expiry and support address for an invitation', () => {
  const { subject, text, html, from, to } = testWriter.write(
    invitationContext({ invitation_body: 'Welcome!\r\nWe look forward\n\nto <b>you</b> & yours.' }),
  );

  assert.is(subject, "You've been invited to Acme Analytics");
  assert.equal([from, to], [{ name: 'Acme Analytics', address: MAIL_FROM }, 'ada@guest.test']);
  assert.match(
    text,
    /^Hello,\n\nYou have been invited to Acme Analytics\.\n\nWelcome!\nWe look forward\n\nto <b>/,
  );
  assert.match(text, '- Sales\n- Churn\n');
  assert.match(text, LINK);
  assert.match(text, 'expires on 5 December 2026, 12:00 (UTC)');
  assert.match(text, 'help@acme.test');
  assert.match(html, 'Welcome!<br>We look forward</p>');
  assert.match(html, 'to &lt;b&gt;you&lt;/b&gt; &amp; yours.');
  assert.match(html, '<li>Sales</li><li>Churn</li>');
  // Once as a button and once as text to copy.
  assert.is(html.match(new RegExp(LINK, 'g'))?.length, 3);
});

writer('are marked as automatic, which prevents absence notes', () => {
  for (const context of [invitationContext(), passwordContext('password-reset')]) {
    assert.equal(testWriter.write(context).headers, {
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
    });
  }
});

writer('omits missing apps, body and support address', () => {
  const { text, html } = testWriter.write(invitationContext({ app_labels: [], support_email: '' }));

  assert.not.match(text + html, /You will have access|Questions|<ul/);
  assert.not.match(text, /\n{3}/);
});

writer('has the subject and the sender of the client, if they are valid', () => {
  const fromOf = (address: string | null) =>
    testWriter.write(invitationContext({ default_from_email: address })).from.address;

  assert.is(testWriter.write(invitationContext({ invitation_subject: ' Come\tin ' })).subject, 'Come in');
  assert.is(fromOf('no-reply@acme.test'), 'no-reply@acme.test');
  const named = testWriter.write(invitationContext({ default_from_email: '"Acme Ops" <ops@acme.test>' }));
  assert.equal(named.from, { name: 'Acme Ops', address: 'ops@acme.test' });
  for (const address of [
    null,
    '',
    'Acme <a@b.test',
    'Acme <a b>',
    'a@b.test, c@d.test',
    'a@b.test\nBcc: c@d.test',
    '"a b"@c.test',
  ]) {
    assert.is(fromOf(address), MAIL_FROM, String(address));
  }
});

writer('has the reason, the expiry, and what to do if it was not requested, for a password reset', () => {
  const { subject, text } = testWriter.write(passwordContext('password-reset'));

  assert.is(subject, 'Reset your password for Acme Analytics');
  assert.match(text, 'Hello Ada,');
  assert.match(text, 'a request to reset the password of ada@guest.test');
  assert.match(text, /http:\/\/localhost:8000\/password\/reset\/\?token=11\.[\w-]{43}/);
  assert.match(text, 'expires on 21 November 2026, 13:00 (UTC)');
  assert.match(text, 'If you did not request this, ignore this email.');
});

writer('says that an account was created, for a password setup', () => {
  const until = '2026-12-05T12:00:00.000Z';
  const mail = testWriter.write(passwordContext('password-setup', { link_expires_at: until }));

  assert.is(mail.subject, 'Set your password for Acme Analytics');
  assert.match(
    mail.text,
    'An account was created for you at Acme Analytics with the email address ada@guest.test.',
  );
  assert.match(mail.text, 'expires on 5 December 2026, 12:00 (UTC)');
});

writer('says when and from where a password was changed, and what to do, without a link', () => {
  const facts = passwordContext('password-changed', { link: null });
  const { subject, text, html } = testWriter.write({ ...facts, request_address: '203.0.113.7' });

  assert.is(subject, 'Your password for Acme Analytics was changed');
  const sentence =
    'The password of ada@guest.test at Acme Analytics was changed on 21 November 2026, 12:00 (UTC) by a request from 203.0.113.7.';
  for (const form of [text, html]) {
    assert.match(form, sentence);
    assert.match(form, 'If this was not you');
    assert.not.match(form, /link|href|token=|null/);
  }
  assert.match(testWriter.write(facts).text, '12:00 (UTC).');
});

writer('names the service if there is no client', () => {
  const facts = passwordContext('password-reset', {
    client_name: null,
    default_from_email: null,
    support_email: null,
    invitation_subject: null,
    invitation_body: null,
  });

  const { from, subject } = testWriter.write(facts);

  assert.equal(from, { name: 'Steward', address: MAIL_FROM });
  assert.is(subject, 'Reset your password for Steward');
});

writer('has no link for viewers who must not see it', () => {
  for (const facts of [invitationContext(), passwordContext('password-reset')]) {
    const { text, html } = testWriter.write(facts, { showsLink: false });

    assert.match(text, '(link not shown)');
    assert.match(html, '(link not shown)');
    assert.not.match(text + html, /http|signature|token|href|KEY/);
  }
});

writer('has one message id per row, in the domain of the sender', () => {
  const idOf = (changes: object) => testWriter.write(invitationContext(changes)).messageId;

  assert.is(idOf({}), idOf({ written_at: new Date('2026-12-02T12:00:00.000Z') }));
  assert.match(idOf({}), /^steward\.7\.\w+@steward\.test$/);
  assert.match(idOf({ default_from_email: 'x@acme.test' }), /@acme\.test$/);
  assert.is.not(idOf({}), idOf({ id: 8 }));
  assert.is.not(idOf({}), idOf({ created_at: new Date(0) }));
});

writer('keeps text without control characters', () => {
  assert.is(oneLine('  Käse\r\nBcc: x@y.test\u2028\0\u202e  "日本" 👩‍🚀 '), 'Käse Bcc: x@y.test "日本" 👩‍🚀');
  // Encoded words, which mail programs would decode into unchecked text.
  assert.is(oneLine('=?utf-8?q?x=0D=0ABcc:?='), '= ?utf-8?q?x=0D=0ABcc:?=');
  assert.is(oneLine('👍'.repeat(300)), '👍'.repeat(255));
  assert.is(oneLine('half \ud83d of a pair'), 'half \ufffd of a pair');
  assert.is(plainText('a\r\nb\rc\td\u0007\u001b[31m\u2029e\n'), 'a\nb\nc\td[31me');
  assert.ok(isMailAddress('o.brien+tag%x@mail.acme.test'));
  assert.not.ok(isMailAddress(`${'a'.repeat(250)}@b.test`));
});

writer.run();
