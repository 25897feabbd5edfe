import { useRef } from 'react';

/** A new idempotency key. `crypto.randomUUID` is missing on sites without HTTPS. */
export const newIdempotencyKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

/** How long an identical request counts as a repeat. */
const REPEAT_MS = 300_000;

/**
 * The keys of requests that may be repeated after an error: a repeat has the key of the first request, so that a lost response does not
 * cause a second change. After five minutes, an identical request is a new one: the stored response would report a success although much
 * may have changed since.
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
    /** After a change has succeeded or was given up, each request is a new one. */
    forget: () => keys.clear(),
  };
};
