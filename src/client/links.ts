import {
  type HTTPHeaders,
  httpBatchLink,
  httpBatchStreamLink,
  httpLink,
  type Operation,
  splitLink,
  type TRPCLink,
} from '@trpc/client';
import type { inferRouterOutputs } from '@trpc/server';
import superjson from 'superjson';
import { MAX_BATCH_SIZE } from '../lib/limits.ts';
import type { Answer } from './answers.ts';
import type { AppRouter } from './app-router.ts';

/** What may be said along with a single call, as `{ context: … }`. Such a call is sent alone. */
export type CallContext = {
  /** Names a change, so that sending it again within a day does nothing more. */
  idempotencyKey?: string;
  /** Changes only what still has this `ETag`. */
  ifMatch?: string;
};

/** Calls whose input may be larger than that of a batch. */
export const LARGE_CALLS: ReadonlySet<string> = new Set(['invitations.create', 'usage.record']);

type Outputs = inferRouterOutputs<AppRouter>;
type Streamed = {
  [Noun in keyof Outputs & string]: {
    [Verb in keyof Outputs[Noun] & string]: Extract<Outputs[Noun][Verb], AsyncIterable<unknown>> extends never
      ? never
      : `${Noun}.${Verb}`;
  }[keyof Outputs[Noun] & string];
}[keyof Outputs & string];

/** Calls whose answer comes page by page. The compiler sees to it that none is missing. */
const STREAMED_CALLS = { 'usage.listByApp': true, 'usage.listByUser': true } satisfies Record<Streamed, true>;

/** Short enough for what proxies take by default, the longest of them 8 KiB with all headers. */
const MAX_URL_LENGTH = 4000;
/** The rest is for the address of the service and the name of the procedure. */
const MAX_INPUT_LENGTH = 3000;

type Deps = {
  url: string;
  send: (url: string, init?: RequestInit) => Promise<Answer>;
  credentials: () => Record<string, string>;
};

/**
 * Calls made together travel together, and only what comes by pages is streamed: a streamed batch takes up to twice the
 * time, browsers give its connection up at the end of each, and it can set no cookie.
 */
export const createLinks = ({ url, send, credentials }: Deps): TRPCLink<AppRouter> => {
  const common = {
    url: `${url}/trpc`,
    transformer: superjson,
    // tRPC has a looser type of its own, but gives what `fetch` takes.
    fetch: (address: unknown, init?: object) => send(String(address), init as RequestInit | undefined),
  };
  const batch = { ...common, headers: credentials, maxItems: MAX_BATCH_SIZE, maxURLLength: MAX_URL_LENGTH };
  return splitLink({
    condition: isAlone,
    true: httpLink({ ...common, headers: ({ op }) => ({ ...credentials(), ...headersOf(op) }) }),
    false: splitLink({
      condition: ({ path }) => Object.hasOwn(STREAMED_CALLS, path),
      true: httpBatchStreamLink(batch),
      // Other queries stay GET requests: browsers, proxies and a custom `fetch` know that these can be repeated.
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

const isAlone = (op: Operation): boolean => LARGE_CALLS.has(op.path) || Object.keys(headersOf(op)).length > 0;

const headersOf = ({ context }: Operation): Exclude<HTTPHeaders, Iterable<unknown>> => {
  const { idempotencyKey, ifMatch } = context as CallContext; // what callers are told to put there
  return {
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
  };
};
