import {
  type HTTPHeaders,
  httpBatchLink,
  httpBatchStreamLink,
  httpLink,
  type Operation,
  splitLink,
  TRPCClientError,
  type TRPCLink,
} from '@trpc/client';
import type { inferRouterOutputs } from '@trpc/server';
import { observable, type Unsubscribable } from '@trpc/server/observable';
import superjson from 'superjson';
import { MAX_BATCH_SIZE } from '../lib/trpc-limits.ts';
import type { AppRouter } from './app-router.ts';
import { isProblem } from './errors.ts';
import type { StewardResponse } from './responses.ts';

/** Options of a single call, passed as `{ context: … }`. Such a call is not batched. */
export type CallContext = {
  /** Makes a mutation safe to repeat within 24 hours. */
  idempotencyKey?: string;
  /** Fails with `precondition-failed` if the resource has another `ETag`. */
  ifMatch?: string;
};

/** Calls whose input may exceed the body limit of a batch. */
export const LARGE_CALLS: ReadonlySet<string> = new Set(['invitations.create', 'usage.record']);

type Outputs = inferRouterOutputs<AppRouter>;
type Streamed = {
  [Noun in keyof Outputs & string]: {
    [Verb in keyof Outputs[Noun] & string]: Extract<Outputs[Noun][Verb], AsyncIterable<unknown>> extends never
      ? never
      : `${Noun}.${Verb}`;
  }[keyof Outputs[Noun] & string];
}[keyof Outputs & string];

/** Calls that stream page by page. `satisfies` reports missing ones. */
const STREAMED_CALLS = {
  'usage.listByApp': true,
  'usage.listByUser': true,
  'usage.listByUserInAllApps': true,
  'users.export': true,
  'users.table': true,
} satisfies Record<Streamed, true>;

/** Within the default limits of proxies, such as 8 KiB including all headers. */
const MAX_URL_LENGTH = 4000;
/** Leaves room for the base URL and the procedure name. */
const MAX_INPUT_LENGTH = 3000;

type Deps = {
  url: string;
  send: (url: string, init?: RequestInit) => Promise<StewardResponse>;
  credentials: () => Record<string, string>;
};

/**
 * Batches concurrent calls. Only calls that stream pages use a streamed batch: it takes up to twice the time, browsers close
 * its connection afterwards, and it cannot set cookies.
 */
export const createLinks = ({ url, send, credentials }: Deps): TRPCLink<AppRouter> => {
  const common = {
    url: `${url}/trpc`,
    transformer: superjson,
    // tRPC declares looser types, but passes arguments of `fetch`.
    fetch: (address: unknown, init?: object) => send(String(address), init as RequestInit | undefined),
  };
  const batch = { ...common, headers: credentials, maxItems: MAX_BATCH_SIZE, maxURLLength: MAX_URL_LENGTH };
  return splitLink({
    condition: isUnbatched,
    true: httpLink({ ...common, headers: ({ op }) => ({ ...credentials(), ...headersOf(op) }) }),
    false: splitLink({
      condition: ({ path }) => Object.hasOwn(STREAMED_CALLS, path),
      true: httpBatchStreamLink(batch),
      // Other queries are GET requests, which browsers, proxies and a custom `fetch` may repeat.
      false: splitLink({
        condition: isTooLongForUrl,
        true: httpBatchLink({ ...batch, methodOverride: 'POST' }),
        false: httpBatchLink(batch),
      }),
    }),
  });
};

const isTooLongForUrl = ({ type, input }: Operation): boolean =>
  type === 'query' && encodeURIComponent(superjson.stringify(input)).length > MAX_INPUT_LENGTH;

const isUnbatched = (op: Operation): boolean =>
  LARGE_CALLS.has(op.path) || Object.keys(headersOf(op)).length > 0;

const headersOf = ({ context }: Operation): Exclude<HTTPHeaders, Iterable<unknown>> => {
  const { idempotencyKey, ifMatch } = context as CallContext; // the documented call options
  return {
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
  };
};

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
