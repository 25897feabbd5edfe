import { useRef } from 'react';

/** A new idempotency key. `crypto.randomUUID` is missing on sites without HTTPS. */
export const newIdempotencyKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

/** How long the same request counts as a repeat. */
const REPEAT_MS = 300_000;

/**
 * The keys of requests that may be repeated after an error: a repeat has the key of the first, so that a lost response does not
 * make it happen twice. After five minutes the same request is a new one: much may have changed, and the stored response of the
 * old one would report a success that did not happen.
 */
export const useIdempotencyKeys = () => {
  const keys = useRef(new Map<string, { key: string; until: number }>()).current;
  return {
    keyOf: (request: unknown): string => {
      const text = JSON.stringify(request);
      const known = keys.get(text);
      if (known && known.until > Date.now()) return known.key;
      const key = newIdempotencyKey();
      keys.set(text, { key, until: Date.now() + REPEAT_MS });
      return key;
    },
    /** Once a change has succeeded, or the user has given it up, each request is a new one. */
    forget: () => keys.clear(),
  };
};
