import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { usualReport } from '../../routers/schemas/usage-fast-path.ts';
import { UsageReport } from '../../routers/schemas/usage-report.ts';

const reports = suite('usual reports of usage');

const USUAL = {
  id: 'x1',
  email: 'Ada@ACME.test',
  full_name: 'Ada Lovelace',
  timestamp: '2026-11-21T12:00:00.123+01:00',
  action: 'STACK_ACCESS',
  action_description: 'Opened "Überblick" 🎉',
  extra: { stack: 'a0a91e46', request: { path: '/', META: { PATH: '/usr/bin', SERVER_PORT: '80' } } },
};

const odd = fc.constantFrom<unknown>(
  ...[undefined, null, '', ' ', 7, true, [], {}, new Date(0), new Date(Number.NaN), 'a\0b', '\ud800', 'x\n'],
  ...[
    '2026-02-30T00:00:00Z',
    '2026-02-28T00:00Z',
    '2026-02-28T00:00:00Z',
    '2028-02-29T24:00:00Z',
    '2026-01-01',
  ],
  ...['0000-01-01T00:00:00-23:59', '2026-01-01T00:00:00.123456789Z', '2026-01-01t00:00:00z'],
  ...['a@b', 'a%b@x.test', 'é@x.test', `${'a'.repeat(248)}@x.test`, `${'a'.repeat(247)}@x.test`],
  ...['A'.repeat(64), 'A'.repeat(65), 'A\n', 'a', '_A', 'x'.repeat(128), 'x'.repeat(129)],
  ...['y'.repeat(301), 'y'.repeat(302), 'z'.repeat(10_000), 'z'.repeat(10_001), '🎉'.repeat(64)],
  ...[
    { request: 7 },
    { request: { META: { HTTP_COOKIE: 'x' } } },
    { x: 'é'.repeat(40_000) },
    { stack: 'a\0b' },
  ],
);
const key = fc.constantFrom(...Object.keys(USUAL), 'unknown', '__proto__');
const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.emailAddress());
const element = fc
  .array(fc.tuple(key, fc.oneof(odd, text, fc.jsonValue())), { maxLength: 3 })
  .map((changes): unknown => ({ ...USUAL, ...Object.fromEntries(changes) }));

reports('are what the schema makes of them', () => {
  let usual = 0;
  fc.assert(
    fc.property(fc.oneof({ weight: 9, arbitrary: element }, odd), (given) => {
      const quick = usualReport(given);
      if (quick === null) return;
      usual += 1;
      assert.equal(quick, UsageReport.parse(given));
    }),
    { numRuns: 3_000 },
  );
  assert.ok(usual > 500, `only ${usual} were usual`);
});

reports('are those that platforms send', () => {
  const { id: _id, full_name: _name, timestamp: _time, action_description: _about, ...least } = USUAL;
  for (const given of [USUAL, least, { ...least, id: null, full_name: null, timestamp: null }]) {
    assert.ok(usualReport(given));
  }
});

reports.run();
