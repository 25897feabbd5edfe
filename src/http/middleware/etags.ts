import { hash } from 'node:crypto';

const digestOf = (text: string): string => hash('sha256', text, 'base64url');

/**
 * The strong validator of an answer: of all its bytes (RFC 9110 §8.8.3). Where some of its keys change by themselves,
 * such as counts of usage, another digest stands before it, of all the others.
 */
export const etagOf = (content: object, text: string, passing: readonly string[] = []): string => {
  if (passing.length === 0) return `"${digestOf(text)}"`;
  const lasting = Object.entries(content).filter(([key]) => !passing.includes(key));
  return `"${digestOf(JSON.stringify(lasting))}.${digestOf(text)}"`;
};

/** The entity tags of an `If-Match` or `If-None-Match`, `*` for any; null when it is neither. */
export const parseEtags = (header: string): readonly string[] | '*' | null => {
  if (header.trim() === '*') return '*';
  if (!LIST.test(header)) return null;
  return header.match(TAG) ?? [];
};

/** A tag may hold commas and anything else that is visible, but quotes. */
const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;
const LIST = new RegExp(`^[ \\t,]*${TAG.source}([ \\t]*,[ \\t,]*${TAG.source})*[ \\t,]*$`);

/**
 * Weak tags are equal to nothing (RFC 9110 §8.8.3.2). What changes by itself is no change that a writer could undo: of
 * tags in two parts, the first decides.
 */
export const matchesStrongly = (tags: readonly string[] | '*', etag: string): boolean =>
  tags === '*' || tags.some((tag) => tag === etag || hasSameStablePart(tag, etag));

const hasSameStablePart = (tag: string, etag: string): boolean => {
  const lasting = TWO_PARTS.exec(etag)?.[1];
  return lasting !== undefined && TWO_PARTS.exec(tag)?.[1] === lasting;
};

/** As `etagOf` makes them: a SHA-256 has 43 characters. */
const TWO_PARTS = /^"([\w-]{43})\.[\w-]{43}"$/;

export const matchesWeakly = (tags: readonly string[] | '*', etag: string): boolean =>
  tags === '*' || tags.some((tag) => tag.replace(/^W\//, '') === etag);
