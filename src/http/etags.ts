import { hash } from 'node:crypto';

/** The strong validator of an answer: of all its bytes (RFC 9110 §8.8.3). */
export const etagOf = (text: string): string => `"${hash('sha256', text, 'base64url')}"`;

/** The entity tags of an `If-Match` or `If-None-Match`, `*` for any; null when it is neither. */
export const readTags = (header: string): readonly string[] | '*' | null => {
  if (header.trim() === '*') return '*';
  if (!LIST.test(header)) return null;
  return header.match(TAG) ?? [];
};

/** A tag may hold commas and anything else that is visible, but quotes. */
const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;
const LIST = new RegExp(`^[ \\t,]*${TAG.source}([ \\t]*,[ \\t,]*${TAG.source})*[ \\t,]*$`);

/** RFC 9110 §8.8.3.2: weak tags are equal to nothing. */
export const matchesStrongly = (tags: readonly string[] | '*', etag: string): boolean =>
  tags === '*' || tags.includes(etag);

export const matchesWeakly = (tags: readonly string[] | '*', etag: string): boolean =>
  tags === '*' || tags.some((tag) => tag.replace(/^W\//, '') === etag);
