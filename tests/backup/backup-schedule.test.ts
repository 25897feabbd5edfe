import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { expiredArchives, intervalStart, isDue } from '../../src/backup/scheduled-backup.ts';

const at = (time: string): Date => new Date(`2026-03-${time}:00Z`);
const DAILY = { intervalHours: 24, startMinute: 180 };
const NEVER = { lastGoodAt: null, failures: 0, lastFailureAt: null };

const schedule = suite('backup schedule');

schedule('begins intervals at the time of day', () => {
  assert.equal(intervalStart(at('10T02:59'), DAILY), at('09T03:00'));
  assert.equal(intervalStart(at('10T03:00'), DAILY), at('10T03:00'));
  assert.equal(intervalStart(at('10T10:59'), { intervalHours: 6, startMinute: 180 }), at('10T09:00'));
});

schedule('makes one backup in each interval, however often it is asked', () => {
  const good = { ...NEVER, lastGoodAt: at('10T03:00') };

  assert.is(isDue(at('10T08:00'), NEVER, DAILY), true);
  assert.is(isDue(at('11T02:59'), good, DAILY), false);
  assert.is(isDue(at('11T03:00'), good, DAILY), true);
  assert.is(isDue(at('14T12:00'), good, DAILY), true);
});

schedule('retries a failed backup after 5 minutes, and then after longer pauses of up to an hour', () => {
  const failed = (failures: number) => ({ lastGoodAt: null, failures, lastFailureAt: at('10T03:00') });

  assert.is(isDue(at('10T03:04'), failed(1), DAILY), false);
  assert.is(isDue(at('10T03:05'), failed(1), DAILY), true);
  assert.is(isDue(at('10T03:19'), failed(3), DAILY), false);
  assert.is(isDue(at('10T03:20'), failed(3), DAILY), true);
  assert.is(isDue(at('10T03:59'), failed(50), DAILY), false);
  assert.is(isDue(at('10T04:00'), failed(50), DAILY), true);
});

schedule('expires archives beyond the number and the days to keep, and never the newest', () => {
  const archives = ['10', '09', '08', '07', '01'].map((day) => ({ startedAt: at(`${day}T03:00`) }));
  const expired = (keep: number, keepDays: number) =>
    expiredArchives(archives, { keep, keepDays }, at('10T12:00')).map((archive) => archives.indexOf(archive));

  assert.equal(expired(3, 0), [3, 4]);
  assert.equal(expired(2, 4), [4]);
  assert.equal(expired(5, 0), []);
  assert.equal(expired(0, 0), [1, 2, 3, 4]);
});

schedule.run();
