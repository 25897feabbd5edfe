import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isWholePeriod } from '../../console/src/usage/usage-filter.ts';

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

previous.run();
