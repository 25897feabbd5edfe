import { type Endpoint, restEndpoints } from '../rest/endpoints.ts';

/** The path that lists the API. */
export const API_INDEX = '/api/v1/';

/** A path of the API with the endpoints (methods) that it serves. */
export type ApiPath = { url: string; endpoints: readonly Endpoint[] };

/** By Fastify route (`/api/v1/jb/users/:email/`), in the order of the routers. */
const PATHS: ReadonlyMap<string, ApiPath> = new Map(
  [...Map.groupBy(restEndpoints(), ({ url }) => url)].map(([url, endpoints]) => [url, { url, endpoints }]),
);

export const findApiPath = (url: string | undefined): ApiPath | undefined =>
  url === undefined ? undefined : PATHS.get(url);

export const pathsBelow = (url: string): ApiPath[] =>
  [...PATHS.values()].filter((path) => path.url !== url && path.url.startsWith(url));

export const isReadable = (path: ApiPath | undefined): boolean =>
  path?.endpoints.some(({ method }) => method === 'GET') ?? false;
