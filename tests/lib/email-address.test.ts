import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Email, EmailAddress, normalizeEmail } from '../../src/lib/email-address.ts';

const addresses = suite('email addresses');

const reasonsAgainst = (text: string): string[] =>
  Email.safeParse(text).error?.issues.map(({ message }) => message) ?? [];

addresses('have one form for an internationalized domain: ASCII in lower case', () => {
  for (const text of [
    'ada@bücher.example',
    'Ada@BÜCHER.Example',
    'ADA@XN--BCHER-KVA.EXAMPLE',
    // u and a combining diaeresis, full-width letters, an ideographic full stop
    'ada@bu\u0308cher.example',
    'ada@büchｅr.example',
    'ada@bücher。example',
    '  ada@bücher.example\n',
  ]) {
    assert.is(Email.parse(text), 'ada@xn--bcher-kva.example', text);
  }
  assert.is(EmailAddress.parse('Ada@Bücher.example'), 'Ada@xn--bcher-kva.example', 'as a sender is shown');
});

addresses('are refused if they need SMTPUTF8, with a message that says so', () => {
  assert.match(reasonsAgainst('jörg@example.org').join(), /^Must be an email address with only ASCII/);
  assert.match(reasonsAgainst('jörg@bücher.example').join(), /^Must be an email address with only ASCII/);
});

addresses('are refused if their domain is invalid', () => {
  for (const text of [
    ...['ada@ü/b.com', 'ada@ü%2eb.com', 'ada@ü?.com', 'ada@ü#.com', 'ada@ü:80', 'ada@ü b.com', 'ada@ü..com'],
    ...['ada@ü.', '@ü.com', 'ada@b@ü.com', 'ada@١٢٧.0.0.1', 'ada@a\u200db.com', 'ada@\u00ad.com', 'ü', ''],
  ]) {
    assert.equal(reasonsAgainst(text), ['Must be an email address.'], text);
  }
});

addresses('are measured in the form that is stored', () => {
  const label = 'ü'.repeat(20);
  const domain = Array.from({ length: 10 }, () => label).join('.');

  assert.ok(`ada@${domain}`.length < 254);
  assert.equal(reasonsAgainst(`ada@${domain}`), ['Must have at most 254 characters.']);
});

addresses('change text that is not an address to lower case only', () => {
  for (const text of ['', '@', 'Ada', 'Ada@', '@ü', 'Ada@ü/b', 'ü@ada', '\0ü@ü\0']) {
    assert.is(normalizeEmail(text), text.toLowerCase());
  }
});

addresses.run();
