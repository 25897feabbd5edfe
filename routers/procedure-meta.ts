import type { OpenApiMeta, OpenApiMethod } from 'trpc-to-openapi';
import { type ProblemCode, roleRequired } from '../src/lib/problems.ts';
import { scopesOf } from '../src/services/access/action-scopes.ts';
import type { Actor } from '../src/services/access/actor.ts';
import type { GuardMeta } from './middleware/mutation-guards.ts';

/**
 * The widest data that a procedure reaches. A session that is confined to a client may call procedures with the reach `client`, and sees
 * and changes only data of that client.
 */
export type Reach = 'client' | 'account' | 'installation';

/** Settings that `OpenApiMeta` lacks. Base procedures set `reach`, `role` and `mayCall`; `routesOf` sets the rest. */
export type ProcedureMeta = {
  reach?: Reach;
  /** The roles that may call the procedure, as text; by default all users. */
  role?: string | undefined;
  /** Whether the actor has one of these roles. */
  mayCall?: ((actor: Actor) => boolean) | undefined;
  /** Whether it requires no credentials. */
  isPublic?: boolean;
  rest?: RestMeta;
};

/** For a large body that has not been read yet. @throws Problem `forbidden` */
export const requireRole = (
  { role = '', mayCall }: Pick<ProcedureMeta, 'role' | 'mayCall'>,
  actor: Actor,
): void => {
  if (mayCall && !mayCall(actor)) throw roleRequired(role);
};

/** Settings of the REST path of a procedure. */
export type RestMeta = GuardMeta & {
  /** Status of a successful response, by default 200, or 204 without an output. */
  status?: 200 | 201 | 204;
  /** Whether the replaced service documents this path. Other paths are extensions. */
  legacy?: boolean;
  /**
   * Further problems, in addition to those that the path implies: by parameters (such as `not-found`), by a change, and by a required role.
   */
  problems?: readonly ProblemCode[];
  /** Fields of the body in the example of the OpenAPI document, in addition to the required ones. */
  example?: object;
  /** The body may be an object or an array of objects. The procedure takes an array under this key and returns one. */
  many?: string;
  /** The procedure takes the whole body under this key. */
  body?: string;
  /** Input keys that are read from the query string although the request has a body. */
  query?: readonly string[];
  /** The object under this key is sent in the query as `{key}.{name}={value}`. */
  dotted?: string;
  /** Whether callers send forms. Every path accepts forms; the OpenAPI document lists these only. */
  forms?: boolean;
  maxBodyBytes?: number;
  /** Available content types, the default first. */
  responseTypes?: readonly string[];
  /** Responds with JSON regardless of the `Accept` header. */
  jsonOnly?: boolean;
  /** The content type of the file that the endpoint responds with. The procedure returns a `Download` to REST. */
  download?: string;
  /** Responds with server-sent events. The procedure is a subscription, whose `lastEventId` is the header `Last-Event-ID`. */
  isEventStream?: boolean;
  /** The response may contain tokens, links, or mails and pages with links. It is not compressed. */
  hasSecrets?: boolean;
  /** Response fields that change without a mutation. `If-Match` ignores them. */
  volatileFields?: readonly string[];
};

export { scopesOf };

/** The query with whose ETag `If-Match` is compared. None for a POST, which creates a resource or starts an action. */
export const matchedQueryOf = (method: OpenApiMethod | undefined, { resourceQuery }: GuardMeta = {}) =>
  method === 'POST' ? undefined : resourceQuery;

type Description = {
  /** A short phrase without a full stop. */
  summary: string;
  /** Markdown. */
  description?: string;
};

type Builder<Procedure> = { meta: (meta: OpenApiMeta<ProcedureMeta>) => Procedure };

/** Assigns REST paths to procedures, under a tag of the OpenAPI document. All get the settings in `shared`. */
export const routesOf =
  (tag: string, shared: RestMeta = {}) =>
  <Procedure>(
    base: Builder<Procedure>,
    method: OpenApiMethod,
    path: `/${string}`,
    { summary, description, ...rest }: Description & RestMeta,
  ): Procedure =>
    base.meta({
      openapi: { method, path, tags: [tag], summary, ...(description !== undefined && { description }) },
      rest: { ...shared, ...rest },
    });
