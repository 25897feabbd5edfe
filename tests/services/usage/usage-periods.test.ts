import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { comparedPeriods, lastDayOf, type UsageInterval } from '../../../src/services/usage/usage-report.ts';

const periods = suite('comparedPeriods');

/** First and last day of each period, and of its counterpart. */
const daysOf = (interval: UsageInterval, count: number, now: string) =>
  comparedPeriods(interval, count, new Date(now)).map(({ current, previous }) =>
    [current.start, lastDayOf(current), previous.start, lastDayOf(previous)]
      .map((day) => day.toISOString().slice(0, 10))
      .join(' '),
  );

periods('are UTC days', () => {
  assert.equal(daysOf('day', 2, '2026-03-01T00:30:00Z'), [
    '2026-03-01 2026-03-01 2026-02-27 2026-02-27',
    '2026-02-28 2026-02-28 2026-02-26 2026-02-26',
  ]);
});

periods('are weeks from Monday to Sunday, the last one until today', () => {
  assert.equal(daysOf('week', 2, '2027-01-01T12:00:00Z'), [
    '2026-12-28 2027-01-01 2026-12-14 2026-12-18',
    '2026-12-21 2026-12-27 2026-12-07 2026-12-13',
  ]);
  assert.equal(daysOf('week', 1, '2026-11-22T23:59:59Z'), ['2026-11-16 2026-11-22 2026-11-09 2026-11-15']);
  assert.equal(daysOf('week', 1, '2026-11-23T00:00:00Z'), ['2026-11-23 2026-11-23 2026-11-16 2026-11-16']);
});

periods('are calendar months, and only the running one is compared with fewer days', () => {
  assert.equal(daysOf('month', 2, '2028-03-30T12:00:00Z'), [
    '2028-03-01 2028-03-30 2028-01-01 2028-01-30',
    '2028-02-01 2028-02-29 2027-12-01 2027-12-31',
  ]);
  assert.equal(daysOf('month', 1, '2027-03-30T12:00:00Z'), ['2027-03-01 2027-03-30 2027-02-01 2027-02-28']);
});

periods.run();
