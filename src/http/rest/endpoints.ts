import { callTRPCProcedure, type TRPCProcedureType } from '@trpc/server';
import { forEachOpenApiProcedure, getInputOutputParsers, type OpenApiMethod } from 'trpc-to-openapi';
import { z } from 'zod';
import type { Context } from '../../../routers/context.ts';
import { appRouter } from '../../../routers/index.ts';
import {
  matchedQueryOf,
  type ProcedureMeta,
  type RestMeta,
  scopesOf,
} from '../../../routers/procedure-meta.ts';

const API_PREFIX = '/api/v1';

export type Endpoint = {
  method: OpenApiMethod;
  /** The path in Fastify's syntax: `/api/v1/jb/users/:email/`. */
  url: string;
  pathKeys: readonly string[];
  /** Procedure path: `users.get`. */
  procedure: string;
  /** The id in the OpenAPI document: the procedure, unless this is an alias. */
  operationId: string;
  /** Whether this is a further path of a procedure; see `ALIASES`. */
  isAlias: boolean;
  type: TRPCProcedureType;
  input: z.ZodObject;
  output: z.ZodType;
  isPublic: boolean;
  /** Undefined if every authenticated user may call it. */
  role: string | undefined;
  mayCall: ProcedureMeta['mayCall'];
  reach: ProcedureMeta['reach'];
  /** What a token with scopes needs. */
  scopes: readonly string[];
  tags: readonly string[];
  summary: string;
  description: string | undefined;
  rest: RestMeta;
  /** Columns of the list as CSV; null if it is not a list. */
  csv: readonly string[] | null;
};

/** Derived from the `meta` of the procedures. */
const procedureEndpoints = (): Endpoint[] => {
  const endpoints: Endpoint[] = [];
  forEachOpenApiProcedure<ProcedureMeta>(appRouter._def.procedures, ({ path, type, procedure, meta }) => {
    const { inputParser, outputParser } = getInputOutputParsers(procedure);
    // The package's types require an object here, but `prefault({})` makes the input optional.
    const schema: z.ZodType = inputParser;
    const result: z.ZodType | undefined = outputParser;
    // Null is the result for visitors, whom REST answers with 401.
    const output = result instanceof z.ZodNullable ? (result.unwrap() as z.ZodType) : result;
    const input = schema instanceof z.ZodPrefault ? schema.unwrap() : schema;
    if (!(input instanceof z.ZodObject)) throw new TypeError(`${path} must take an object`);
    if (!output) throw new TypeError(`${path} must declare its output`);
    const rest: RestMeta = { ...(output.def.type === 'void' && { status: 204 }), ...meta.rest };
    endpoints.push({
      method: meta.openapi.method,
      ...routeOf(API_PREFIX + meta.openapi.path),
      procedure: path,
      operationId: path,
      isAlias: false,
      type,
      input,
      output,
      isPublic: meta.isPublic ?? false,
      role: meta.role,
      mayCall: meta.mayCall,
      reach: meta.reach,
      scopes: scopesOf(path, type),
      tags: meta.openapi.tags ?? [],
      summary: meta.openapi.summary ?? '',
      description: meta.openapi.description,
      rest,
      csv: type === 'query' ? csvColumnsOf(output) : null,
    });
  });
  return endpoints;
};

/** The columns of a list: one for each field of the items in the output schema. Null if the output is not a list. */
const csvColumnsOf = (output: unknown): readonly string[] | null => {
  const item = itemSchemaOf(output);
  return item instanceof z.ZodObject ? Object.keys(item.shape) : null;
};

const itemSchemaOf = (output: unknown): unknown => {
  if (output instanceof z.ZodArray) return output.element;
  // A union: one item, or pages of items.
  if (output instanceof z.ZodUnion) return output.options.map(itemSchemaOf).find(Boolean);
  const { listOf, pagesOf } = (output instanceof z.ZodType && output.meta()) || {};
  return listOf ?? pagesOf;
};

const routeOf = (path: string): Pick<Endpoint, 'url' | 'pathKeys'> => ({
  url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
  pathKeys: [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ''),
});

type InputKeys = { query: readonly string[]; body: readonly string[] };

/** The keys of the input that a request sends in the query and in the body, in addition to the keys of the path. */
export const inputKeysOf = ({ method, input, pathKeys, rest }: Endpoint): InputKeys => {
  const keys = Object.keys(input.shape).filter((key) => !pathKeys.includes(key));
  if (method === 'GET') return { query: keys, body: [] };
  const query = rest.query ?? [];
  return { query, body: method === 'DELETE' ? [] : keys.filter((key) => !query.includes(key)) };
};

/** The schemas inside defaults and optionals (`innerType`) and transforms (`in`). */
type Wrapper = { type: string; innerType?: z.core.$ZodType; in?: z.core.$ZodType };

/** The schema inside defaults, optionals and transforms. */
export const unwrapSchema = (schema: z.core.$ZodType): z.core.$ZodType => {
  const { innerType, in: source }: Wrapper = schema._zod.def;
  const inner = innerType ?? source;
  return inner ? unwrapSchema(inner) : schema;
};

/** Whether the responses of a GET have an ETag: single objects have one, pages of lists do not. */
export const hasEtag = ({ method, output, input }: Endpoint): boolean =>
  method === 'GET' && ['object', 'union'].includes(output.def.type) && !('cursor' in input.shape);

/** Whether `If-Match` and `If-None-Match` are conditions of the change. */
export const acceptsIfMatch = ({ method, rest }: Endpoint): boolean =>
  matchedQueryOf(method, rest) !== undefined;

/** Whether the operation accepts an `Idempotency-Key`. */
export const isIdempotent = ({ type, isPublic }: Endpoint): boolean => type === 'mutation' && !isPublic;

/**
 * Whether a change returns the same as a GET of the resource, with its ETag; `Prefer: return=minimal` omits it. A `PUT` does not, because
 * the service may store other bytes than it received (RFC 9110 §9.3.4).
 */
export const returnsResource = ({ method, rest }: Endpoint): boolean =>
  rest.resourceQuery !== undefined && (method === 'PATCH' || (method === 'POST' && rest.status === 201));

/** Whether `Prefer: return=representation` turns a 204 into a 200 with a body. */
export const canHaveBody = ({ rest, output }: Endpoint): boolean =>
  rest.status === 204 && output.def.type !== 'void';

/** The REST endpoint of a procedure, which is not an alias. */
export const endpointOf = (procedure: string): Endpoint => {
  const endpoint = ENDPOINTS.get(procedure);
  if (!endpoint) throw new TypeError(`${procedure} has no REST path`);
  return endpoint;
};

/** Calls the procedure of an endpoint. `signal` ends a subscription. @throws TRPCError */
export const callEndpoint = (
  { procedure, type }: Endpoint,
  ctx: Context,
  input: Record<string, unknown>,
  signal?: AbortSignal,
) =>
  callTRPCProcedure({
    router: appRouter,
    path: procedure,
    type,
    ctx,
    getRawInput: async () => input,
    signal,
    batchIndex: 0,
  });

/** Replaces the parameters of a route by their values. */
export const fillPath = (url: string, params: Readonly<Record<string, unknown>>): string =>
  url.replaceAll(/:(\w+)/g, (_match, key: string) => encodeSegment(String(params[key])));

/** `@` stays unencoded, which is easier to read. */
export const encodeSegment = (value: string): string => encodeURIComponent(value).replaceAll('%40', '@');

type Alias = readonly [operationId: string, procedure: string, method: OpenApiMethod, path: string];

/**
 * Further REST paths of procedures, for clients of later versions of the replaced service. Each takes the same input and returns the same
 * response as the procedure's own path. The operation ids are unique in the OpenAPI document.
 */
const ALIASES: readonly Alias[] = [
  // Callers send the whole object.
  ['users.put', 'users.update', 'PUT', '/api/v1/jb/users/{email}/'],
  ['apps.put', 'apps.update', 'PUT', '/api/v1/jb/apps/{app_id}/'],
  ['v2.auth', 'tokens.create', 'POST', '/api/v2/auth/'],
  ['v2.refresh', 'tokens.refresh', 'POST', '/api/v2/auth/refresh/'],
  ['v2.verify', 'tokens.verify', 'POST', '/api/v2/auth/verify/'],
  ['accessViews.put', 'accessViews.update', 'PUT', '/api/v1/access_views/{key}/'],
  ['v2.embed', 'accessViews.embed', 'GET', '/api/v2/embed/{app}/{email}/'],
  ['v2.accessViews.list', 'accessViews.list', 'GET', '/api/v2/accessviews/'],
  ['v2.accessViews.create', 'accessViews.create', 'POST', '/api/v2/accessviews/'],
  ['v2.accessViews.get', 'accessViews.get', 'GET', '/api/v2/accessviews/{key}/'],
  ['v2.accessViews.update', 'accessViews.update', 'PATCH', '/api/v2/accessviews/{key}/'],
  ['v2.accessViews.put', 'accessViews.update', 'PUT', '/api/v2/accessviews/{key}/'],
  ['v2.accessViews.deactivate', 'accessViews.deactivate', 'DELETE', '/api/v2/accessviews/{key}/'],
  ['v2.accessViews.uses', 'accessViews.uses', 'GET', '/api/v2/accessviews/{key}/usage/'],
];

const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map(
  procedureEndpoints().map((endpoint) => [endpoint.procedure, endpoint]),
);

/** One endpoint per procedure, then the aliases. */
export const REST_ENDPOINTS: readonly Endpoint[] = [
  ...ENDPOINTS.values(),
  ...ALIASES.map(([operationId, procedure, method, path]) => {
    const endpoint = endpointOf(procedure);
    const rest = { ...endpoint.rest, legacy: false };
    return { ...endpoint, method, ...routeOf(path), operationId, rest, isAlias: true };
  }),
];
