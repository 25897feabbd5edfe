// Functions for the `fetch` option of the client. Each wraps another `fetch`, so they can be combined:
//   createStewardClient({ url, fetch: withRetries(withTimings(fetch, console.log)) })
import type { Send } from '@steward/client';

const MAX_RETRIES = 2;
const DELAY_MS = 500;

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Queries are GET requests, unless their input is too long for a URL. A mutation is safe to repeat if it has an idempotency key. */
const isRepeatable = (init?: RequestInit): boolean =>
  (init?.method ?? 'GET') === 'GET' || new Headers(init?.headers).has('idempotency-key');

/** Retries after a lost connection or a 503, and waits as long as `Retry-After` says. */
export const withRetries =
  (send: Send, wait = sleep): Send =>
  async (url, init) => {
    for (let retries = 0; ; retries += 1) {
      const isLast = retries === MAX_RETRIES || !isRepeatable(init);
      try {
        const response = await send(url, init);
        if (response.status !== 503 || isLast) return response;
        await response.body?.cancel();
        await wait(Number(response.headers.get('retry-after')) * 1000 || DELAY_MS);
      } catch (error) {
        if (isLast || init?.signal?.aborted) throw error;
        await wait(DELAY_MS);
      }
    }
  };

export type Timing = { path: string; status: number; ms: number; requestId: string | null };

/** Reports how long each request took. The query string may hold personal data, so it is left out. */
export const withTimings =
  (send: Send, report: (timing: Timing) => void): Send =>
  async (url, init) => {
    const started = performance.now();
    const response = await send(url, init);
    const path = url.replace(/^https?:\/\/[^/]+/, '').replace(/\?.*/, '');
    const ms = Math.round(performance.now() - started);
    report({ path, status: response.status, ms, requestId: response.headers.get('x-request-id') });
    return response;
  };

/** A `Request` of Fetch, what Next.js returns as `{ headers: await headers() }`, or the request of a server on Node. */
type BrowserRequest = { headers: Headers | { cookie?: string | undefined } };

/**
 * For server-side rendering: makes requests with the cookies of the browser's request, and so as its user. Create one client
 * for each request; a shared one would mix users.
 */
export const withCookiesOf = ({ headers: received }: BrowserRequest, send: Send): Send => {
  const cookie = received instanceof Headers ? received.get('cookie') : received.cookie;
  return (url, init) => {
    const headers = new Headers(init?.headers);
    if (cookie) headers.set('cookie', cookie);
    return send(url, { ...init, headers });
  };
};
