import type { z } from 'zod';
import { type FieldErrors, Problem } from '../../lib/problems.ts';
import { isRecord, MANIFEST_FILE, PackageManifest } from './package-manifest.ts';
import { parseYaml } from './package-yaml.ts';

/** More faults than anyone mends in one go; keeps the answer to a hostile file small. */
const MAX_FAULTS = 50;

/**
 * Reads and checks the content of an `app.yaml`.
 * @throws Problem `invalid-package`, with every invalid field in `fields`
 */
export const parseManifest = (bytes: Uint8Array): PackageManifest => {
  const { data, error } = PackageManifest.safeParse(withoutNulls(parseYaml(MANIFEST_FILE, bytes)), {
    error: describe,
  });
  if (data) return data;
  throw invalidManifest(error);
};

/** `description:` with nothing after it reads as null in YAML and means what leaving it out means. */
const withoutNulls = (value: unknown): unknown =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null)) : value;

const TYPES: Record<string, string> = {
  string: 'text (put it in quotes)',
  boolean: 'true or false',
  number: 'a number',
  int: 'a whole number',
  array: 'a list',
  object: 'a mapping',
};

/** Predicates, so that field and message together read as a sentence. */
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
