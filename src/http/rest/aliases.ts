import type { AppRouter } from '../../../routers/index.ts';

type Procedures = AppRouter['_def']['record'];
type ProcedureName = {
  [R in keyof Procedures & string]: `${R}.${keyof Procedures[R] & string}`;
}[keyof Procedures & string];

export type Alias = {
  /** Unique in the OpenAPI document. */
  operationId: string;
  procedure: ProcedureName;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Its parameters are inputs of the procedure. */
  path: `/api/v${number}/${string}/`;
};

type Paths = readonly [procedure: keyof Procedures['accessViews'] & string, Alias['method'], path: string][];

/** The paths of access views in the second version. */
const ofAccessViews = (paths: Paths): Alias[] =>
  paths.map(([procedure, method, path]) => ({
    operationId: `v2.accessViews.${method === 'PUT' ? 'put' : procedure}`,
    procedure: `accessViews.${procedure}`,
    method,
    path: `/api/v2/accessviews/${path}` as Alias['path'], // each path ends with a slash
  }));

/**
 * Further REST paths of procedures, for callers of later versions of the replaced service. Each takes the same input and
 * returns the same response as the procedure's own path.
 */
export const ALIASES: readonly Alias[] = [
  // Callers send the whole object.
  { operationId: 'users.put', procedure: 'users.update', method: 'PUT', path: '/api/v1/jb/users/{email}/' },
  { operationId: 'apps.put', procedure: 'apps.update', method: 'PUT', path: '/api/v1/jb/apps/{app_id}/' },
  { operationId: 'v2.auth', procedure: 'tokens.create', method: 'POST', path: '/api/v2/auth/' },
  { operationId: 'v2.refresh', procedure: 'tokens.refresh', method: 'POST', path: '/api/v2/auth/refresh/' },
  { operationId: 'v2.verify', procedure: 'tokens.verify', method: 'POST', path: '/api/v2/auth/verify/' },
  {
    operationId: 'accessViews.put',
    procedure: 'accessViews.update',
    method: 'PUT',
    path: '/api/v1/access_views/{key}/',
  },
  {
    operationId: 'v2.embed',
    procedure: 'accessViews.embed',
    method: 'GET',
    path: '/api/v2/embed/{app}/{email}/',
  },
  ...ofAccessViews([
    ['list', 'GET', ''],
    ['create', 'POST', ''],
    ['get', 'GET', '{key}/'],
    ['update', 'PATCH', '{key}/'],
    ['update', 'PUT', '{key}/'],
    ['deactivate', 'DELETE', '{key}/'],
    ['uses', 'GET', '{key}/usage/'],
  ]),
];
