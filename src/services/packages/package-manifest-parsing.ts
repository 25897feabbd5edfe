import { Lexer, parseDocument } from 'yaml';
import type { z } from 'zod';
import { isJsonObject } from '../../lib/json-value.ts';
import { type FieldErrors, Problem } from '../../lib/problems.ts';
import { MANIFEST_FILE, PackageManifest } from './package-manifest.ts';

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

/** Messages are predicates: a field and its message form a sentence. */
const describe = (issue: z.core.$ZodRawIssue): string | undefined => {
  if (issue.code !== 'invalid_type') return undefined;
  return issue.input === undefined ? 'is required' : `must be ${TYPES[issue.expected] ?? issue.expected}`;
};

const invalidManifest = ({ issues }: z.core.$ZodError): Problem => {
  const faults = issues.slice(0, MAX_FAULTS).map(({ path, message }) => ({ field: path.join('.'), message }));
  const fields: FieldErrors = {};
  for (const { field, message } of faults) {
    const key = field || 'app_yaml';
    fields[key] = [...(fields[key] ?? []), message];
  }
  const shown = faults.slice(0, 10).map(({ field, message }) => `${field} ${message}`.trim());
  const more = issues.length > shown.length ? `, and ${issues.length - shown.length} more` : '';
  return new Problem('invalid-package', { detail: `${MANIFEST_FILE}: ${shown.join('; ')}${more}.`, fields });
};

export const MAX_YAML_BYTES = 1024 * 1024;

/**
 * Limit of tokens, line ends and escapes. The library blocks the process for some 20 µs per invalid one: a MiB of wrong brackets took 24 s.
 * 200 stacks have about 4,000.
 */
const MAX_TOKENS = 20_000;

const OPTIONS = {
  schema: 'core',
  stringKeys: true,
  resolveKnownTags: false,
  // 'silent' would also accept a second document.
  logLevel: 'error',
  // Excerpts in messages are quadratic in the length of the file.
  prettyErrors: false,
} as const;

type Refuse = (why: string, cause?: unknown) => Problem;

/**
 * Parses one YAML 1.2 document (core schema, no custom tags) into plain data.
 * @throws Problem `invalid-package` that names `file`
 */
export const parseYaml = (file: string, bytes: Uint8Array): unknown => {
  const refuse: Refuse = (why, cause) =>
    new Problem('invalid-package', { detail: `${file} ${why}.`, fields: { app_yaml: [why] }, cause });

  if (bytes.length > MAX_YAML_BYTES) throw refuse('is larger than 1 MiB');
  const text = attempt(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes), refuse);
  checkComplexity(text, refuse);
  const document = attempt(() => parseDocument(text, OPTIONS), refuse);
  // The library only warns about an unknown tag.
  const [fault] = [...document.errors, ...document.warnings];
  if (fault)
    throw refuse(`is not valid YAML at line ${lineAt(text, fault.pos[0])}: ${summaryOf(fault)}`, fault);

  return attempt<unknown>(() => document.toJS(), refuse);
};

/** The lexer alone is fast, does not validate, and can be stopped. */
const checkComplexity = (text: string, refuse: Refuse): void => {
  let tokens = 0;
  for (const token of new Lexer().lex(text)) {
    tokens += 1 + (token.match(/[\n\r\\]/g)?.length ?? 0);
    if (tokens > MAX_TOKENS) throw refuse(`has more than ${MAX_TOKENS} tokens and lines`);
  }
};

const attempt = <T>(work: () => T, refuse: Refuse): T => {
  try {
    return work();
  } catch (cause) {
    throw refuse(`cannot be read: ${summaryOf(cause)}`, cause);
  }
};

const summaryOf = (error: unknown): string =>
  error instanceof Error ? (error.message.split('\n', 1)[0] ?? '').slice(0, 200) : 'unknown error';

const lineAt = (text: string, position: number): number => text.slice(0, position).split('\n').length;
