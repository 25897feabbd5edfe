import { type Endpoint, restEndpoints } from '../rest/endpoints.ts';

/** The index of the API. */
export const API_INDEX = '/api/v1/';

/** A path of the API, and all that it takes. */
export type ApiPath = { url: string; endpoints: readonly Endpoint[] };

/** By their urls as Fastify writes them (`/api/v1/jb/users/:email/`), in the order of the routers. */
const PATHS: ReadonlyMap<string, ApiPath> = new Map(
  [...Map.groupBy(restEndpoints(), ({ url }) => url)].map(([url, endpoints]) => [url, { url, endpoints }]),
);

export const apiPath = (url: string | undefined): ApiPath | undefined =>
  url === undefined ? undefined : PATHS.get(url);

/** Those that begin with this one, itself left out. */
export const pathsBelow = (url: string): ApiPath[] =>
  [...PATHS.values()].filter((path) => path.url !== url && path.url.startsWith(url));

export const isReadable = (path: ApiPath | undefined): boolean =>
  path?.endpoints.some(({ method }) => method === 'GET') ?? false;

/** The path with these values in place; the parameters that none is known for stay, as `{email}`. */
export const filledIn = (url: string, params: Readonly<Record<string, string>>): string =>
  url.replaceAll(/:(\w+)/g, (_whole, key: string) => {
    const value = Object.hasOwn(params, key) ? params[key] : undefined;
    return value === undefined ? `{${key}}` : encodeURIComponent(value).replaceAll('%40', '@');
  });
