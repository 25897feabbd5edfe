import { isDeepStrictEqual } from 'node:util';
import { Problem } from '../lib/problems.ts';

/**
 * Compares a locked record with what the caller has read of it, so that a change does not overwrite one that the caller has
 * not seen (optimistic locking). Unlike an ETag, it covers only the fields that the caller names.
 * @throws Problem `precondition-failed`
 */
export const requireExpected = <T extends object>(
  record: T,
  expected: { [K in keyof T]?: T[K] | undefined } = {},
): void => {
  for (const field in expected)
    if (expected[field] !== undefined && !isDeepStrictEqual(record[field], expected[field]))
      throw new Problem('precondition-failed');
};
