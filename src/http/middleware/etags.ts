import { hash } from 'node:crypto';

/** The entity tags of a header, or `*` for any. */
export type Etags = readonly string[] | '*';

const digestOf = (text: string): string => hash('sha256', text, 'base64url');

/**
 * The strong ETag of a response: a digest of all its bytes (RFC 9110 §8.8.3). If the content has volatile fields, such as
 * usage counts, a digest of the other fields precedes it.
 */
export const etagOf = (content: object, text: string, volatileFields: readonly string[] = []): string => {
  if (volatileFields.length === 0) return `"${digestOf(text)}"`;
  const stable = Object.entries(content).filter(([key]) => !volatileFields.includes(key));
  return `"${digestOf(JSON.stringify(stable))}.${digestOf(text)}"`;
};

/** Parses the value of `If-Match` or `If-None-Match`. Null if it is invalid. */
export const parseEtags = (header: string): Etags | null => {
  if (header.trim() === '*') return '*';
  if (!LIST.test(header)) return null;
  return header.match(TAG) ?? [];
};

/** A tag may contain commas and all other visible characters except quotes. */
const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;
const LIST = new RegExp(`^[ \\t,]*${TAG.source}([ \\t]*,[ \\t,]*${TAG.source})*[ \\t,]*$`);

/**
 * Strong comparison: weak tags never match (RFC 9110 §8.8.3.2). Of tags in two parts only the first is compared: a writer
 * cannot overwrite a change of a volatile field.
 */
export const matchesStrongly = (etags: Etags, etag: string): boolean =>
  etags === '*' || etags.some((candidate) => candidate === etag || hasSameStablePart(candidate, etag));

const hasSameStablePart = (candidate: string, etag: string): boolean => {
  const stable = TWO_PARTS.exec(etag)?.[1];
  return stable !== undefined && TWO_PARTS.exec(candidate)?.[1] === stable;
};

/** The format of `etagOf`: a SHA-256 in base64url has 43 characters. */
const TWO_PARTS = /^"([\w-]{43})\.[\w-]{43}"$/;

/** Weak comparison: ignores whether the tags are weak. */
export const matchesWeakly = (etags: Etags, etag: string): boolean =>
  etags === '*' || etags.some((candidate) => candidate.replace(/^W\//, '') === etag);
