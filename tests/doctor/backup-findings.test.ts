import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { judgeBackups } from '../../src/doctor/check-service-data.ts';

const HOUR_S = 3_600;
const findings = suite('steward doctor: backups');

for (const [what, state, intervalHours, status, message] of [
  [
    'none scheduled',
    { backupAgeSeconds: null, backupFailures: 0 },
    null,
    'warning',
    'No backups are scheduled',
  ],
  ['none yet', { backupAgeSeconds: null, backupFailures: 0 }, 24, 'warning', 'no scheduled backup yet'],
  ['a recent one', { backupAgeSeconds: 35 * HOUR_S, backupFailures: 0 }, 24, 'ok', 'is 35 h old'],
  ['an overdue one', { backupAgeSeconds: 37 * HOUR_S, backupFailures: 0 }, 24, 'warning', 'is 37 h old'],
  [
    'failures',
    { backupAgeSeconds: HOUR_S, backupFailures: 2 },
    24,
    'warning',
    'failed since the last good one: 2',
  ],
] as const)
  findings(`${what}: ${status}`, () => {
    const finding = judgeBackups(state, intervalHours);

    assert.is(finding.status, status);
    assert.match(finding.message, message);
    assert.is(finding.action === null, status === 'ok');
  });

findings.run();
