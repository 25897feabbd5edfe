import type { TRPCLink } from '@trpc/client';
import { TRPCClientError } from '@trpc/client';
import { observable, type Unsubscribable } from '@trpc/server/observable';
import type { AppRouter } from './app-router.ts';
import { isProblem } from './errors.ts';
import type { StewardResponse } from './responses.ts';

type CsrfTokens = ReturnType<typeof createCsrfTokens>;

/** The CSRF token of the browser session. It becomes stale when another tab logs in. */
export const createCsrfTokens = (url: string, send: (url: string) => Promise<StewardResponse>) => {
  let token: string | undefined;
  let pending: Promise<void> | undefined;

  const fetchToken = async (): Promise<void> => {
    const response = await send(`${url}/api/v1/csrf/`);
    const body = (await response.json()) as { csrf_token: string }; // the schema of this path
    token = body.csrf_token;
  };

  /** Concurrent calls share one request. Does nothing if the token has already changed. */
  const renew = async (stale: string | undefined): Promise<void> => {
    if (token !== stale) return;
    pending ??= fetchToken().finally(() => {
      pending = undefined;
    });
    await pending;
  };

  return {
    renew,
    current: (): string | undefined => token,
    set: (next: string | undefined): void => {
      token = next;
    },
    /** Only browsers have a cookie jar. Elsewhere, the first `csrf-failed` error triggers `renew`. */
    prepare: async (): Promise<void> => {
      if (token === undefined && 'document' in globalThis) await renew(token);
    },
  };
};

/** Fetches the token before the first mutation, and renews it once if it is stale. */
export const csrfLink =
  (csrf: CsrfTokens, isNeeded: () => boolean): TRPCLink<AppRouter> =>
  () =>
  ({ op, next }) => {
    if (op.type !== 'mutation' || !isNeeded()) return next(op);
    return observable((observer) => {
      let running: Unsubscribable | undefined;
      let isUnsubscribed = false;
      const attempt = (isLast: boolean): void => {
        if (isUnsubscribed) return;
        const sent = csrf.current();
        running = next(op).subscribe({
          next: (value) => observer.next(value),
          complete: () => observer.complete(),
          error: (error) => {
            if (isLast || !isProblem(error, 'csrf-failed')) return observer.error(error);
            csrf.renew(sent).then(() => attempt(true), fail);
          },
        });
      };
      const fail = (error: Error): void => observer.error(TRPCClientError.from(error));
      csrf.prepare().then(() => attempt(false), fail);
      return () => {
        isUnsubscribed = true;
        running?.unsubscribe();
      };
    });
  };
