import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { judgeSigningKeys } from '../../src/doctor/check-service-data.ts';
import { DAY_MS } from '../../src/lib/clock.ts';

const NOW = new Date('2026-06-01T00:00:00Z');
const keyOf = (state: Parameters<typeof judgeSigningKeys>[0][number]['state'], ageDays: number) => ({
  state,
  created_at: new Date(NOW.getTime() - ageDays * DAY_MS),
});
const findings = suite('steward doctor: signing keys');

for (const [what, keys, status, message] of [
  ['none yet', [], 'ok', 'creates the key that signs tickets when it starts'],
  ['a recent one', [keyOf('signing', 90.9)], 'ok', 'is 90 days old'],
  ['an overdue one', [keyOf('signing', 91.1)], 'warning', 'is 91 days old. SIGNING_KEY_DAYS is 90'],
  ['the next one', [keyOf('pending', 0), keyOf('signing', 95)], 'ok', 'is 0 days old'],
  ['one of another secret key', [keyOf('unreadable', 1)], 'warning', 'SECRET_KEY does not decrypt: 1'],
  [
    'a changed secret key',
    [keyOf('signing', 0), keyOf('unreadable', 1), keyOf('unreadable', 2)],
    'warning',
    'does not decrypt: 2',
  ],
  ['only retired ones', [keyOf('retired', 1)], 'ok', 'when it starts'],
  ['only later ones', [keyOf('pending', -1)], 'failure', 'No key signs tickets yet'],
] as const)
  findings(`${what}: ${status}`, () => {
    const finding = judgeSigningKeys(keys, NOW, 90);

    assert.is(finding.status, status);
    assert.ok(finding.message.includes(message), finding.message);
    assert.is(finding.action === null, status === 'ok');
  });

findings.run();
