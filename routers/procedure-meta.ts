import type { Role } from '../src/lib/problems.ts';
import type { GuardMeta } from './middleware/mutation-guards.ts';

/** Settings of a procedure and its REST path that `OpenApiMeta` does not cover. */
export type ProcedureMeta = {
  role?: Role;
  rest?: GuardMeta & {
    /** Status of a successful response, by default 200. */
    status?: 200 | 201 | 204;
    /** The body may be an object or an array of objects. The procedure takes an array under this key and returns one. */
    many?: string;
    /** The procedure takes the whole body under this key. */
    body?: string;
    /** Input keys that are read from the query string although the request has a body. */
    query?: readonly string[];
    /** The object under this key is sent in the query as `{key}.{name}={value}`. */
    dotted?: string;
    /** Also accepts form bodies. */
    forms?: boolean;
    maxBodyBytes?: number;
    /** Available content types, the default first. */
    responseTypes?: readonly string[];
    /** Responds with JSON regardless of the `Accept` header. */
    jsonOnly?: boolean;
    /** The content type of the file that the endpoint responds with. The procedure returns a `Download` to REST. */
    download?: string;
    /** Response fields that change without a mutation. `If-Match` ignores them. */
    volatileFields?: readonly string[];
    /** See `EXTENSION`. */
    extension?: boolean;
  };
};

/** An endpoint that Steward adds to the documented interface. */
export const EXTENSION = { extension: true } as const;

type RestMeta = NonNullable<ProcedureMeta['rest']>;
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** REST paths under a tag of the OpenAPI document. `protect: false` for procedures that require no credentials. */
export const routesOf =
  (tag: string) =>
  (
    method: Method,
    path: `/${string}`,
    { protect = true, ...rest }: RestMeta & { protect?: boolean } = {},
  ) => ({
    openapi: { method, path, tags: [tag], protect },
    rest,
  });
