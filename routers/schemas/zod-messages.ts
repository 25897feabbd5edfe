import type { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  date: 'a date, such as 2026-01-31 or 2026-01-31T12:00:00Z',
};

/** Error messages of zod for callers, in one style for all inputs. */
export const describeIssue = (issue: Issue): string | undefined => {
  if (issue.input === undefined && issue.code !== 'custom') return 'This field is required.';
  if (issue.code === 'invalid_type') return `Must be ${TYPES[issue.expected] ?? issue.expected}.`;
  if (issue.code === 'too_big')
    return `Must ${verbOf(issue.origin)} at most ${issue.maximum}${unitOf(issue.origin)}.`;
  if (issue.code === 'too_small') {
    if (issue.origin === 'string' && issue.minimum === 1) return 'Must not be empty.';
    return `Must ${verbOf(issue.origin)} at least ${issue.minimum}${unitOf(issue.origin)}.`;
  }
  if (issue.code === 'invalid_value')
    return `Must be one of ${issue.values.map((value) => `"${String(value)}"`).join(', ')}.`;
  return undefined;
};

const verbOf = (origin: string): string => (origin === 'string' || origin === 'array' ? 'have' : 'be');

const unitOf = (origin: string): string => {
  if (origin === 'string') return ' characters';
  return origin === 'array' ? ' elements' : '';
};
