import { isDeepStrictEqual } from 'node:util';
import type { EntityName } from '@mikro-orm/core';
import type { Em } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { type Changes, diffColumns } from './audit.ts';

/**
 * Compares a locked record with the values that the caller has read, so that a change does not overwrite one that the caller has not seen
 * (optimistic locking). Unlike an ETag, it covers only the fields that the caller names.
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

/**
 * Sets the properties of a locked entity to the given values, whose keys are column names, like the fields of the API: `{ first_name: 'Ada'
 * }` sets `firstName`. Undefined values, and values that are not columns, change nothing. It sets any column in `values`: pass only columns
 * that the caller may change, such as an input that the schema of its procedure has stripped.
 * @returns the changes, for the audit trail
 */
export const editEntity = <E extends object>(
  tx: Em,
  type: EntityName<E>,
  entity: E,
  values: Record<string, unknown>,
): Changes => {
  const before: Record<string, unknown> = {};
  const after: Record<string, unknown> = {};
  for (const { name, fieldNames } of tx.getMetadata(type).props) {
    const column = fieldNames[0] ?? name;
    if (values[column] === undefined) continue;
    before[column] = entity[name];
    after[column] = values[column];
    Object.assign(entity, { [name]: values[column] });
  }
  return diffColumns(before, after, Object.keys(after));
};
