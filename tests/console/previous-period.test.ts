import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { comparisonText, ended, isWholePeriod } from '../../console/src/usage/usage-filter.ts';

const previous = suite('the previous period of a report');

previous('is whole if usage reaches back to its beginning', () => {
  assert.ok(isWholePeriod([3, 0, 4], 'month'));
  assert.not.ok(isWholePeriod([0, 3, 4], 'month'));
  assert.not.ok(isWholePeriod([0, 3, 4], 'week'));
});

previous('is whole if it begins with a weekend, but not with a week without use', () => {
  assert.ok(isWholePeriod([0, 0, 5, 5, 5, 5, 5, 0, 0], 'day'));
  assert.not.ok(isWholePeriod([0, 0, 0, 0, 0, 0, 0, 5, 5], 'day'));
  assert.not.ok(isWholePeriod([], 'day'));
});

previous('is compared without the interval that has not ended, in both totals', () => {
  const [now, before] = [
    [4, 5, 1],
    [4, 4, 9],
  ];
  const sum = (counts: readonly number[]) => ended(counts).reduce((total, count) => total + count, 0);
  const compared = { value: sum(now), before: sum(before) };
  const text = (interval: 'day' | 'week', periods: number) => comparisonText({ interval, periods }, compared);

  assert.is(text('day', 3), '2 full days against the 2 before: 9 against 8');
  assert.is(text('week', 2), '1 full week against the 1 before: 9 against 8');
});

previous.run();
