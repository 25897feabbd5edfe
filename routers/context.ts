import type { Problem } from '../src/lib/problems.ts';
import type { Actor } from '../src/services/access/actor.ts';
import type { TokenUses } from '../src/services/auth/token-uses.ts';
import type { IdempotencyKey } from '../src/services/idempotency/idempotency.ts';
import type { ConfirmBeforeCommit, Services } from '../src/services/index.ts';
import type { ListFormat } from './schemas/row-encoder.ts';

/** The context of a procedure, whether it is called over REST, over tRPC or in-process. */
export type Context = {
  /** Opens a new unit of work. Calls of one batch run concurrently, so each needs its own. */
  openServices: (confirmBeforeCommit?: ConfirmBeforeCommit) => Services;
  /** How long a call may take, in milliseconds. */
  timeLimitMs: number;
  /** The caller, or null without valid credentials. Looked up on first use. With `isFresh`, looked up again, for calls that last long. */
  findActor: (options?: { isFresh: boolean }) => Promise<Actor | null>;
  /** The problem to throw if `findActor` returns null. It states the reason. */
  unauthenticated: () => Problem;
  /** Records what the token of the caller, if any, is used for: a procedure that needs these scopes. */
  recordUse: TokenUses['record'];
  /** The browser session, which login and logout change. */
  browser: Browser;
  /** Runs `work` in one transaction, which its services share. Rolls back if `work` fails. */
  inTransaction: <T>(
    work: (services: Services) => Promise<T>,
    confirmBeforeCommit?: ConfirmBeforeCommit,
  ) => Promise<T>;
  /**
   * The `Idempotency-Key` of the request, or null.
   * @throws Problem `invalid-input` if the header is invalid
   */
  idempotencyKey: () => IdempotencyKey | null;
  /**
   * The condition of the request, `If-Match` or `If-None-Match`, or null.
   * @throws Problem `invalid-input` if a header is invalid
   */
  precondition: () => Precondition | null;
  /** Reports which page of a list the response holds. REST sends it in headers. */
  setPagination: (page: Pagination) => void;
  /** The format in which REST sends a list, so that it may be streamed; undefined for other callers. */
  listFormat?: ListFormat | undefined;
  /** Whether the caller gets a file: REST, where the endpoint is a download. */
  isDownload?: boolean | undefined;
  /** Base URL of the service, without a trailing slash. */
  baseUrl: string;
  /** URL template of an app, with `{slug}` or `{id}`. */
  appUrl: string;
  /** The requested host with its port, which identifies a site. */
  host: string;
};

/** `number` starts at 1; `count` is the length of the whole list. */
export type Pagination = { number: number; size: number; count: number };

export type Precondition = {
  /** Name of the header. */
  header: string;
  /**
   * Locks the resource that a query returns, and compares its ETag. The input of the mutation that changes it identifies it.
   * @throws Problem `precondition-failed`, `invalid-input`, and the problems of the query
   */
  check: (query: keyof Services['resourceLocks'], input: unknown, caller: Caller) => Promise<void>;
};

type Caller = { actor: Actor; services: Services };

/** A cookie of the request; the response keeps it or deletes it. */
type BrowserCookie = {
  readonly value: string | null;
  keep: (value: string, minutes: number) => void;
  forget: () => void;
};

export type Browser = {
  /** The `User-Agent` header. */
  userAgent: string;
  /** The session secret that the request carries. */
  session: string | null;
  /** The token of a login that waits for a second factor. */
  challenge: BrowserCookie;
  /** The token of a browser that requested a passkey. A streamed response cannot delete it, because its headers are already sent. */
  passkey: BrowserCookie;
  /** The secret that binds logins at identity providers to the browser. */
  sso: BrowserCookie;
  /**
   * Called before a login that sets a cookie. Refuses pages of other sites, which must not log a browser in, and streamed responses, whose
   * headers are sent before the cookie is known.
   * @throws Problem `cross-site`, `not-acceptable`
   */
  prepareLogin: () => void;
  /** Sets the cookie of a new session and returns its CSRF token. */
  keepSession: (secret: string) => string;
  forgetSession: () => void;
};
