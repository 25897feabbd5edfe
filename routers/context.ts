import type { Actor } from '../src/services/actor.ts';
import type { Services } from '../src/services/index.ts';

/** What a procedure is given, whether it was called over REST, over tRPC or in-process. */
export type Context = {
  /** Opens a unit of work of its own: calls of one batch run at the same time and must not share one. */
  openServices: () => Services;
  /** The caller, or null without valid credentials. Looked up when first asked for. */
  authenticate: () => Promise<Actor | null>;
  /** The browser's session, which logging in and out changes. */
  browser: Browser;
  /**
   * What the caller has named the request by, so that it is not done twice: `Idempotency-Key`, or null.
   * @throws Problem `invalid-input` when it is no such key
   */
  idempotencyKey: () => string | null;
  /** Told which page of a list the answer is; where there is a place for it, the answer says so. */
  tellPage: (page: ToldPage) => void;
  /** Address of the service itself, without a trailing slash. */
  baseUrl: string;
  /** The host that the caller asked for, with its port: it names a site. */
  host: string;
};

/** `number` is from 1, `count` that of the whole list. */
export type ToldPage = { number: number; size: number; count: number };

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
