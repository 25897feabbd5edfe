import type { Actor } from '../src/services/actor.ts';
import type { Services } from '../src/services/index.ts';

/** What a procedure is given, whether it was called over REST, over tRPC or in-process. */
export type Context = {
  /** Opens a unit of work of its own: calls of one batch run at the same time and must not share one. */
  openServices: () => Services;
  /** The caller, or null without valid credentials. Looked up when first asked for. */
  authenticate: () => Promise<Actor | null>;
  /** Address of the service itself, without a trailing slash. */
  baseUrl: string;
  /** The host that the caller asked for, with its port: it names a site. */
  host: string;
  /** Network address of the caller. */
  address: string;
};
