import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'zod';
import { AnyObject, Instant } from '../../routers/schemas/outputs.ts';
import { createRowEncoder, isoInstant, jsonString } from '../../routers/schemas/row-encoder.ts';
import type { TextRow } from '../../src/db/list-pages.ts';

const encoders = suite('row encoders');

const View = z.object({
  name: z.string(),
  note: z.string().nullable(),
  is_active: z.boolean(),
  count: z.int(),
  clients: z.array(z.int()),
  extra: AnyObject,
  joined: Instant,
  left: Instant.nullable(),
});

encoders('return the bytes that JSON.stringify returns for the view', () => {
  const { columns, encode } = createRowEncoder(View, 'json');
  const row = ['A"b', null, 't', '-7', '[1,2]', '{"a":{}}', '2026-11-21 10:20:30.5+00', null];

  assert.equal(columns, Object.keys(View.shape));
  assert.is(
    encode([...row, 'a key']),
    JSON.stringify({
      name: 'A"b',
      note: null,
      is_active: true,
      count: -7,
      clients: [1, 2],
      extra: { a: {} },
      joined: new Date('2026-11-21T10:20:30.500Z'),
      left: null,
    }),
  );
});

encoders('write the fields of the view as CSV, with empty cells for null', () => {
  const { start, encode, separator, end } = createRowEncoder(View, 'csv');
  const row = ['=A"b', null, 't', '-7', '[1,2]', '{"a":{}}', '2026-11-21 10:20:30.5+00', null];

  assert.is(start, 'name,note,is_active,count,clients,extra,joined,left\r\n');
  assert.is(encode(row), `"'=A""b",,true,'-7,"[1,2]","{""a"":{}}",2026-11-21T10:20:30.500Z,\r\n`);
  assert.is(separator + end, '');
});

encoders('use the given readers, which see the whole row', () => {
  const readers = { note: (text: string | null, [name]: TextRow) => text ?? `of ${name}` };
  const { encode } = createRowEncoder(View.pick({ name: true, note: true }), 'json', readers);

  assert.is(encode(['Ada', null]), '{"name":"Ada","note":"of Ada"}');
});

encoders('refuse null in a field that the view does not allow to be null', () => {
  const { encode } = createRowEncoder(View.pick({ note: true, name: true }), 'json');

  assert.is(encode([null, 'Ada']), '{"note":null,"name":"Ada"}');
  assert.throws(() => encode(['A note', null]), /name is null/);
});

encoders('quote any text as JSON.stringify does', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      fc.pre(text.isWellFormed());
      assert.is(jsonString(text), JSON.stringify(text));
    }),
    { seed: 1 },
  );
  const all = String.fromCharCode(...Array.from({ length: 0x180 }, (_, code) => code));
  assert.is(jsonString(all), JSON.stringify(all));
});

encoders('write an instant as Date does, for any fraction, year and time zone', () => {
  for (const [text, iso] of Object.entries({
    '2026-11-21 10:20:30+00': '2026-11-21T10:20:30.000Z',
    '2026-11-21 10:20:30.5+00': '2026-11-21T10:20:30.500Z',
    '2026-11-21 10:20:30.12+00': '2026-11-21T10:20:30.120Z',
    '2026-11-21 10:20:30.123+00': '2026-11-21T10:20:30.123Z',
    '2026-11-21 10:20:30.123456+00': '2026-11-21T10:20:30.123Z',
    '2026-11-21 10:20:30.5+05:30': '2026-11-21T04:50:30.500Z',
    '1815-12-10 00:00:00.001+00': '1815-12-10T00:00:00.001Z',
    '10000-01-01 00:00:00+00': '+010000-01-01T00:00:00.000Z',
    '0002-12-31 23:59:59.999+00 BC': '-000001-12-31T23:59:59.999Z',
  }))
    assert.is(isoInstant(text), iso);
});

encoders.run();
