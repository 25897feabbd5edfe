import type { TRPCLink } from '@trpc/client';
import { TRPCClientError } from '@trpc/client';
import { observable, type Unsubscribable } from '@trpc/server/observable';
import type { Answer } from './answers.ts';
import type { AppRouter } from './app-router.ts';
import { isProblem } from './failures.ts';

export type CsrfTokens = ReturnType<typeof createCsrfTokens>;

/** The CSRF token of this browser's session. Another tab may log in anew, and then it is stale. */
export const createCsrfTokens = (url: string, send: (url: string) => Promise<Answer>) => {
  let token: string | undefined;
  let pending: Promise<void> | undefined;

  const fetchToken = async (): Promise<void> => {
    const response = await send(`${url}/api/v1/csrf/`);
    const answer = (await response.json()) as { csrf_token: string }; // of that path; `send` lets no other answer through
    token = answer.csrf_token;
  };

  /** One request for all calls that find out together; who finds out later takes what the others have got. */
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
    /** Only pages have cookies of their own accord; elsewhere a session shows by its first refusal. */
    prepare: async (): Promise<void> => {
      if (token === undefined && 'document' in globalThis) await renew(token);
    },
  };
};

/** Gets the token before the first change, and once more when it has become stale. */
export const csrfLink =
  (csrf: CsrfTokens, isNeeded: () => boolean): TRPCLink<AppRouter> =>
  () =>
  ({ op, next }) => {
    if (op.type !== 'mutation' || !isNeeded()) return next(op);
    return observable((observer) => {
      let running: Unsubscribable | undefined;
      let isOver = false;
      const attempt = (isLast: boolean): void => {
        if (isOver) return;
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
        isOver = true;
        running?.unsubscribe();
      };
    });
  };
