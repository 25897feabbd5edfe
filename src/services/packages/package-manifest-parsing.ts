import type { z } from 'zod';
import { isJsonObject } from '../../lib/json-value.ts';
import { type FieldErrors, Problem } from '../../lib/problems.ts';
import { MANIFEST_FILE, PackageManifest } from './package-manifest.ts';
import { parseYaml } from './package-yaml.ts';

/** Keeps the response to a hostile file small. */
const MAX_FAULTS = 50;

/**
 * Parses and validates an `app.yaml`.
 * @throws Problem `invalid-package`, with every invalid field in `fields`
 */
export const parseManifest = (bytes: Uint8Array): PackageManifest => {
  const { data, error } = PackageManifest.safeParse(withoutNulls(parseYaml(MANIFEST_FILE, bytes)), {
    error: describe,
  });
  if (data) return data;
  throw invalidManifest(error);
};

/** In YAML, `description:` without a value is null. It means the same as no `description`. */
const withoutNulls = (value: unknown): unknown =>
  isJsonObject(value) ? Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null)) : value;

const TYPES: Record<string, string> = {
  string: 'text (put it in quotes)',
  boolean: 'true or false',
  number: 'a number',
  int: 'a whole number',
  array: 'a list',
  object: 'a mapping',
};

/** Predicates: a field and its message form a sentence. */
const describe = (issue: z.core.$ZodRawIssue): string | undefined => {
  if (issue.code !== 'invalid_type') return undefined;
  return issue.input === undefined ? 'is required' : `must be ${TYPES[issue.expected] ?? issue.expected}`;
};

const invalidManifest = ({ issues }: z.core.$ZodError): Problem => {
  const faults = issues.slice(0, MAX_FAULTS).map(({ path, message }) => ({ field: path.join('.'), message }));
  const fields: FieldErrors = {};
  for (const { field, message } of faults) {
    const key = field === '' ? 'app_yaml' : field;
    fields[key] ??= [];
    fields[key].push(message);
  }
  const shown = faults.slice(0, 10).map(({ field, message }) => `${field} ${message}`.trim());
  const more = issues.length > shown.length ? `, and ${issues.length - shown.length} more` : '';
  return new Problem('invalid-package', { detail: `${MANIFEST_FILE}: ${shown.join('; ')}${more}.`, fields });
};
