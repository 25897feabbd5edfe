import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Measure, resultOf, resultsTable } from '../../bench/console/results.ts';

const MEASURE: Measure = { name: 'search', title: 'search', unit: 'ms', goal: 100, take: async () => [] };
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => count - index);

const results = suite('bench:console: results');

results('have the fastest sample, p50 and p95', () => {
  const { best, p50, p95 } = resultOf(MEASURE, upTo(40));

  assert.equal([best, p50, p95], [1, 20, 38]);
});

results('say in the table which goals are met', () => {
  const rows = [[90], [90, 90, 110], [110]].map((samples) => resultOf(MEASURE, samples));

  assert.equal(resultsTable(rows), [
    '| measure | fastest | p50 | p95 | goal | result |',
    '| --- | --- | --- | --- | --- | --- |',
    '| search | 90 ms | 90 ms | 90 ms | ≤ 100 ms | met |',
    '| search | 90 ms | 90 ms | 110 ms | ≤ 100 ms | p50 met |',
    '| search | 110 ms | 110 ms | 110 ms | ≤ 100 ms | **not met** |',
  ]);
});

results.run();
