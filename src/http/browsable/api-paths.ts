import { type Endpoint, encodeSegment, REST_ENDPOINTS } from '../rest/endpoints.ts';
import type { LinkResolver } from './json-highlighter.ts';

const API = '/api/v1';
/** The path that lists the API. */
export const API_INDEX = `${API}/`;

/** By Fastify route (`/api/v1/jb/users/:email/`). */
const ENDPOINTS: ReadonlyMap<string, readonly Endpoint[]> = Map.groupBy(REST_ENDPOINTS, ({ url }) => url);

/** The endpoints (methods) of a route. */
export const endpointsAt = (url: string | undefined): readonly Endpoint[] => ENDPOINTS.get(url ?? '') ?? [];

const USER_KEYS = new Set(['email', 'user', 'actor', 'fetched_by', 'loaded_by']);
const APP_KEYS = new Set(['apps', 'initial_apps', 'app_id']);
const CLIENT_KEYS = new Set(['client', 'clients', 'clientadmin_of']);
/** Objects that callers fill freely: their keys have no meaning here. */
const FREE_FORM_KEYS = new Set(['extra', 'details', 'package_info', 'state']);

/** Creates a function that links values of a response to their own paths. The key of a value determines its path. */
export const createLinkResolver = (url: string, requestUrl: string): LinkResolver => {
  if (url === API_INDEX) return (_keys, value) => URL.parse(String(value))?.pathname ?? null;
  const isInvitation = url.includes('/invitations/');
  const itemRoute = findItemRoute(url);
  const isOfOwnFilters = url.includes('/hashr/') && !/\/(shared|defaults)\//.test(url);

  const routeOf = (key: string, value: string | number, isTopLevel: boolean): string | null => {
    if (typeof value === 'number' && CLIENT_KEYS.has(key)) return `${API}/jb/clients/:id/`;
    if (key === 'id' && isTopLevel) return itemRoute;
    if (typeof value === 'number') return null;
    // The address of an invitation may have no account.
    if (isInvitation && isTopLevel && key === 'email') return null;
    if (USER_KEYS.has(key)) return value.includes('@') ? `${API}/jb/users/:email/` : null;
    if (APP_KEYS.has(key)) return `${API}/jb/apps/:app_id/`;
    return key === 'hash' && isOfOwnFilters ? `${API}/hashr/saved_global_filters/:hash/` : null;
  };

  return (keys, value) => {
    const key = keys.at(-1);
    if (key === undefined || keys.some((each) => FREE_FORM_KEYS.has(each))) return null;
    if ((typeof value !== 'number' && typeof value !== 'string') || value === '') return null;
    if (key === 'next_cursor' && typeof value === 'string') return nextPagePath(requestUrl, value);
    const route = routeOf(key, value, keys.length === 1);
    const link = route?.replace(/:\w+/, () => encodeSegment(String(value))) ?? null;
    return link === requestUrl ? null : link;
  };
};

/** The route of one element of a list: `/jb/clients/:id/apps/` lists `/jb/apps/:app_id/`. */
const findItemRoute = (url: string): string | null => {
  const collection = url.match(/\/(\w+)\/(?::\w+\/)?$/)?.[1] ?? '';
  const plural = collection === 'site' ? 'sites' : collection;
  const candidates = [`${API}/jb/${plural}/:id/`, `${API}/jb/${plural}/:app_id/`];
  return candidates.find((route) => endpointsAt(route).some(({ method }) => method === 'GET')) ?? null;
};

const nextPagePath = (requestUrl: string, cursor: string): string => {
  const [path = '', query = ''] = requestUrl.split('?');
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return `${path}?${parameters}`;
};
