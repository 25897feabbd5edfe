import type { Problem } from '../src/lib/problems.ts';
import type { Actor } from '../src/services/access/actor.ts';
import type { IdempotencyKey } from '../src/services/idempotency/idempotency.ts';
import type { Services } from '../src/services/index.ts';

/** What a procedure is given, whether it was called over REST, over tRPC or in-process. */
export type Context = {
  /** Opens a unit of work of its own: calls of one batch run at the same time and must not share one. */
  openServices: () => Services;
  /** The caller, or null without valid credentials. Looked up when first asked for. */
  authenticate: () => Promise<Actor | null>;
  /** The problem to throw if `authenticate` returns null: it names the reason. */
  unauthenticated: () => Problem;
  /**
   * Whether a query may begin to read before the caller is known: only where the caller is expected to see all users. For any
   * other, the time that it takes would reveal users whom the caller may not see.
   */
  canPrefetch: (services: Services) => boolean;
  /** The browser's session, which logging in and out changes. */
  browser: Browser;
  /** Runs the work in one transaction, which all that these services do is part of; a failure takes it back. */
  inTransaction: <T>(work: (services: Services) => Promise<T>) => Promise<T>;
  /**
   * What the caller has named the request by, so that it is done once: `Idempotency-Key`, or null.
   * @throws Problem `invalid-input` when it is no such key
   */
  idempotencyKey: () => IdempotencyKey | null;
  /**
   * What the caller has seen before they change it: `If-Match`, `If-None-Match`, or null.
   * @throws Problem `invalid-input` when it is no such condition
   */
  precondition: () => Precondition | null;
  /** Told which page of a list the answer is; where there is a place for it, the answer says so. */
  setPagination: (page: Pagination) => void;
  /** Whether the answer goes out as JSON text, so that a list may be made as text in the first place. */
  acceptsJsonStream?: boolean | undefined;
  /** Address of the service itself, without a trailing slash. */
  baseUrl: string;
  /** The host that the caller asked for, with its port: it names a site. */
  host: string;
};

/** `number` is from 1, `count` that of the whole list. */
export type Pagination = { number: number; size: number; count: number };

export type Precondition = {
  /** The header that says it. */
  header: string;
  /**
   * The resource that a query shows to the caller, by the input of what is to change it.
   * @throws Problem `invalid-input`
   */
  resolveResource: (query: string, input: unknown) => Resource;
};

export type Resource = {
  /** The input of the query. */
  key: Record<string, unknown>;
  /**
   * Holds the resource against the condition, as these services see it.
   * @throws Problem `precondition-failed`, and whatever the query throws
   */
  check: (actor: Actor, services: Services) => Promise<void>;
};

export type Browser = {
  /** What the caller's program calls itself. */
  userAgent: string;
  /** The secret of the session that the request came with. */
  session: string | null;
  /**
   * Asked before a login that would set a cookie: pages of other sites must not log anybody in, and a streamed
   * answer has sent its headers before it knows whether there is a cookie to set.
   * @throws Problem `cross-site`, `not-acceptable`
   */
  prepareLogin: () => void;
  /** Keeps the secret of a new session, and answers the CSRF token that goes with it. */
  keepSession: (secret: string) => string;
  forgetSession: () => void;
};
