import * as assert from 'uvu/assert';
import type { Outcome } from './service-process.ts';

export const STACK = /^\s+at /m;

/** What an operator did wrongly: told in so many lines on standard error, and nothing else. */
export const isRefused = ({ code, stdout, stderr }: Outcome, lines: number, expected = 1): void => {
  assert.is(code, expected, stderr);
  assert.is(stdout, '');
  assert.not.match(stderr, STACK);
  assert.is(stderr.trimEnd().split('\n').length, lines, stderr);
};
