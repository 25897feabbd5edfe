import * as assert from 'uvu/assert';
import type { Outcome } from './service-process.ts';

export const STACK = /^\s+at /m;

/** Asserts that a command refused: this many lines on standard error, no stack and no output. */
export const assertRefused = ({ code, stdout, stderr }: Outcome, lines: number, expected = 1): void => {
  assert.is(code, expected, stderr);
  assert.is(stdout, '');
  assert.not.match(stderr, STACK);
  assert.is(stderr.trimEnd().split('\n').length, lines, stderr);
};
