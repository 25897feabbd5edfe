import {
  type HTTPHeaders,
  httpBatchLink,
  httpBatchStreamLink,
  httpLink,
  type Operation,
  splitLink,
  type TRPCLink,
} from '@trpc/client';
import superjson from 'superjson';
import { MAX_BATCH_SIZE } from '../core/limits.ts';
import type { Send } from './answers.ts';
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

/** Short enough for what proxies take by default, the longest of them 8 KiB with all headers. */
const MAX_URL_LENGTH = 4000;

type Deps = { url: string; send: Send; credentials: () => Record<string, string> };

/**
 * Calls made together travel together. Queries are answered one by one as they are ready; the answer to a change comes
 * whole, since only then can it set a cookie.
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
      condition: ({ type }) => type === 'query',
      true: httpBatchStreamLink(batch),
      false: httpBatchLink(batch),
    }),
  });
};

const isAlone = (op: Operation): boolean => LARGE_CALLS.has(op.path) || Object.keys(headersOf(op)).length > 0;

const headersOf = ({ context }: Operation): Exclude<HTTPHeaders, Iterable<unknown>> => {
  const { idempotencyKey, ifMatch } = context as CallContext; // what callers are told to put there
  return {
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
  };
};
