import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { frameOf, messageOf } from '../../src/adapters/event-sinks/syslog-message.ts';
import { AUDIT_ACTIONS, eventTypeOf } from '../../src/services/audit/event-types.ts';
import { anyCharacter } from '../support/any-character.ts';
import { parseSyslog, readFrames } from '../support/syslog.ts';

const messages = suite('syslog messages');

const event = {
  id: 417,
  type: 'user.deactivated',
  version: 1,
  timestamp: new Date('2026-11-27T08:12:41.312Z'),
  subject: 'ada@acme.test',
  actor: 'admin@acme.test' as string | null,
  data: {},
};

messages('have the form of RFC 5424', () => {
  assert.is(
    messageOf(event, 'steward.acme.test'),
    `<110>1 2026-11-27T08:12:41.312Z steward.acme.test steward - user.deactivated [steward@32473 id="417" type="user.deactivated" subject="ada@acme.test" actor="admin@acme.test"] ${JSON.stringify(event)}`,
  );
});

messages('hold any text: escaped in the structured data, as ASCII in the JSON, within 8,000 bytes', () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 400 }),
    fc.string({
      unit: fc.constantFrom('"', '\\', ']', '\n', '\0', ' ', '\u{1f600}', '\ud800', 'é'),
      maxLength: 400,
    }),
    fc.string({ unit: fc.constantFrom('\u{10ffff}', '\u{1f600}'), minLength: 250, maxLength: 400 }),
  );
  const anyEvent = fc.record({
    id: fc.maxSafeNat(),
    subject: text,
    actor: fc.option(text),
    data: fc.dictionary(text, fc.jsonValue()),
  });
  fc.assert(
    fc.property(anyEvent, fc.string({ unit: anyCharacter }), (fields, hostname) => {
      const sent = { ...event, ...fields };
      const frame = frameOf(sent, hostname);
      const {
        messages: [message = ''],
        rest,
      } = readFrames(frame);
      const { parameters, text: json, ...header } = parseSyslog(message);

      assert.is(rest.length, 0);
      assert.ok(Buffer.byteLength(message) <= 8_000);
      assert.is(header.timestamp, event.timestamp.toISOString());
      assert.is(parameters.id, String(fields.id));
      const expected = [...fields.subject.toWellFormed()]
        .slice(0, 320)
        .join('')
        .replaceAll(/\p{Cc}/gu, '\ufffd');
      assert.is(parameters.subject, expected);
      assert.is(parameters.actor === undefined, fields.actor === null);
      assert.match(json, /^[\x20-\x7e]*$/);
      const read = JSON.parse(json);
      if (read.is_truncated) assert.is(read.id, fields.id);
      else assert.equal(read, JSON.parse(JSON.stringify(sent)));
    }),
    { numRuns: 1_000 },
  );
});

messages('of a large event leave its data out', () => {
  const large = { ...event, data: { members: 'x'.repeat(8_000) } };
  const { text, parameters } = parseSyslog(messageOf(large, 'steward'));

  const { id, type, timestamp } = event;
  assert.is(text, JSON.stringify({ id, type, timestamp, is_truncated: true }));
  assert.is(parameters.subject, event.subject);
});

messages('name every type of event, and warn of failures', () => {
  const warnings: string[] = [];
  for (const type of AUDIT_ACTIONS.map(eventTypeOf)) {
    const { msgId, priority } = parseSyslog(messageOf({ ...event, type }, 'steward'));
    assert.is(msgId, type);
    if (priority === 108) warnings.push(type);
    else assert.is(priority, 110);
  }
  assert.equal(warnings.toSorted(), [
    'domain.lapsed',
    'login.failed',
    'login.sso_failed',
    'mfa.copy_detected',
    'mfa.failed',
    'request.refused',
    'webhook.disabled',
  ]);
});

messages.run();
