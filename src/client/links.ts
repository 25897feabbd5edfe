import {
  type HTTPHeaders,
  httpBatchLink,
  httpBatchStreamLink,
  httpLink,
  type Operation,
  type OperationLink,
  splitLink,
  TRPCClientError,
  type TRPCLink,
} from '@trpc/client';
import { observable } from '@trpc/server/observable';
import superjson from 'superjson';
import { MAX_BATCH_SIZE } from '../lib/trpc-limits.ts';
import type { AppRouter } from './app-router.ts';
import { isProblem } from './errors.ts';
import type { Send, StewardResponse } from './responses.ts';
import type { RouterOutputs } from './types.ts';

/** Options of a single call, passed as `{ context: … }`. Such a call is not batched. */
export type CallContext = {
  /** Makes a mutation safe to repeat within 24 hours. */
  idempotencyKey?: string;
  /** Fails with `precondition-failed` if the resource has another `ETag`. */
  ifMatch?: string;
};

/** Calls whose input may exceed the body limit of a batch. */
export const LARGE_CALLS: ReadonlySet<string> = new Set(['invitations.create', 'usage.record']);

/** Calls that count over much data: concurrent calls must not wait for them. */
const SLOW_CALLS: ReadonlySet<string> = new Set(['attention.get', 'usage.summary']);

/** Calls that the console makes just before it renders. A batch would be sent after the rendering. */
const IMMEDIATE_CALLS: ReadonlySet<string> = new Set(['access.grid', 'usage.report', 'users.people']);

type Streamed = {
  [Noun in keyof RouterOutputs & string]: {
    [Verb in keyof RouterOutputs[Noun] & string]: Extract<
      RouterOutputs[Noun][Verb],
      AsyncIterable<unknown>
    > extends never
      ? never
      : `${Noun}.${Verb}`;
  }[keyof RouterOutputs[Noun] & string];
}[keyof RouterOutputs & string];

/** Calls that stream page by page. `satisfies` reports missing ones. A subscription has a link of its own. */
const STREAMED_CALLS = {
  'usage.listByApp': true,
  'usage.listByUser': true,
  'usage.listByUserInAllApps': true,
  'users.export': true,
  'users.table': true,
} satisfies Record<Exclude<Streamed, 'events.stream'>, true>;

/** Within the default limits of proxies, such as 8 KiB including all headers. */
const MAX_URL_LENGTH = 4000;
/** Leaves room for the base URL and the procedure name. */
const MAX_INPUT_LENGTH = 3000;

type Deps = {
  url: string;
  fetch: Send;
  send: (url: string, init?: RequestInit) => Promise<StewardResponse>;
  credentials: (ops: readonly Operation[]) => Promise<Record<string, string>>;
};

/**
 * Batches concurrent calls. Only calls that stream pages use a streamed batch: it takes up to twice the time, browsers close
 * its connection afterwards, and it cannot set cookies.
 */
export const createLinks = ({ url, fetch, send, credentials }: Deps): TRPCLink<AppRouter> => {
  const common = {
    url: `${url}/trpc`,
    transformer: superjson,
    // tRPC declares looser types, but passes arguments of `fetch`.
    fetch: (address: unknown, init?: object) => send(String(address), init as RequestInit | undefined),
  };
  const batch = {
    ...common,
    headers: ({ opList }: { opList: readonly Operation[] }) => credentials(opList),
    maxItems: MAX_BATCH_SIZE,
    maxURLLength: MAX_URL_LENGTH,
  };
  const calls = splitLink({
    condition: isUnbatched,
    true: httpLink({
      ...common,
      headers: async ({ op }) => ({ ...(await credentials([op])), ...headersOf(op) }),
    }),
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
  return splitLink({
    condition: ({ type }) => type === 'subscription',
    true: loadWhenUsed(async () =>
      (await import('./subscription-link.ts')).createSubscriptionLink({
        url: common.url,
        send: fetch,
        headers: () => credentials([]),
      }),
    ),
    false: calls,
  });
};

/** Few pages subscribe. Other pages do not load this link. */
const loadWhenUsed =
  (load: () => Promise<TRPCLink<AppRouter>>): TRPCLink<AppRouter> =>
  (runtime) => {
    let link: Promise<OperationLink<AppRouter>> | undefined;
    return (options) =>
      observable((observer) => {
        let isOver = false;
        let unsubscribe = (): void => {};
        link ??= load().then((create) => create(runtime));
        link
          .then((loaded) => {
            if (!isOver) ({ unsubscribe } = loaded(options).subscribe(observer));
          })
          .catch((error: Error) => {
            link = undefined;
            observer.error(TRPCClientError.from(error));
          });
        return () => {
          isOver = true;
          unsubscribe();
        };
      });
  };

const isTooLongForUrl = ({ type, input }: Operation): boolean =>
  type === 'query' && encodeURIComponent(superjson.stringify(input)).length > MAX_INPUT_LENGTH;

const isUnbatched = (op: Operation): boolean =>
  LARGE_CALLS.has(op.path) ||
  SLOW_CALLS.has(op.path) ||
  (IMMEDIATE_CALLS.has(op.path) && !isTooLongForUrl(op)) ||
  Object.keys(headersOf(op)).length > 0;

const headersOf = ({ context }: Operation): Exclude<HTTPHeaders, Iterable<unknown>> => {
  const { idempotencyKey, ifMatch } = context as CallContext; // the documented call options
  return {
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
  };
};

type Failure = { op: Operation; error: unknown; attempts: number };

/** The CSRF token of the browser session. It becomes stale when another tab logs in. */
export const createCsrfTokens = (url: string, send: (url: string) => Promise<StewardResponse>) => {
  /** Concurrent calls share the request for it. */
  let token: Promise<string> | undefined;
  /** By the context of a call, because the batch link copies the operation. */
  const sent = new WeakMap<object, Promise<string>>();

  const fetchToken = async (): Promise<string> => {
    const response = await send(`${url}/api/v1/csrf/`);
    const body = (await response.json()) as { csrf_token: string }; // the schema of this path
    return body.csrf_token;
  };
  const renew = (): void => {
    const renewed = fetchToken();
    token = renewed;
    // The next call tries again.
    renewed.catch(() => {
      if (token === renewed) token = undefined;
    });
  };

  return {
    set: (next: string | undefined): void => {
      token = next === undefined ? undefined : Promise.resolve(next);
    },

    /** Queries need no token. Only browsers have a cookie jar: elsewhere, it is fetched after the first `csrf-failed` error. */
    headersOf: async (ops: readonly Operation[]): Promise<Record<string, string>> => {
      if (ops[0]?.type !== 'mutation') return {};
      if (!token && 'document' in globalThis) renew();
      if (!token) return {};
      for (const op of ops) sent.set(op.context, token);
      return { 'x-csrftoken': await token };
    },

    /** Whether to retry a failed call, once. Renews its token, unless another call has already done so. */
    canRetry: ({ op, error, attempts }: Failure): boolean => {
      if (attempts > 1 || op.type !== 'mutation' || !isProblem(error, 'csrf-failed')) return false;
      if (token === sent.get(op.context)) renew();
      return true;
    },
  };
};
