import { API_INDEX, apiPath, filledIn, isReadable } from './endpoint-paths.ts';
import type { LinkOf } from './json-lines.ts';

const API = '/api/v1';
const PEOPLE = new Set(['email', 'user', 'actor', 'fetched_by', 'loaded_by']);
const APPS = new Set(['apps', 'initial_apps', 'app_id']);
const CLIENTS = new Set(['client', 'clients', 'clientadmin_of']);
/** What somebody has sent, kept as it came: a key in there has no meaning of ours. */
const FREE_FORM = new Set(['extra', 'details', 'package_info']);

/** Which values of an answer have another path of their own, by the keys that they stand under. */
export const valueLinks = (url: string, self: string): LinkOf => {
  if (url === API_INDEX) return (_keys, value) => URL.parse(String(value))?.pathname ?? null;
  const linkOf = anyLinks(url, self);
  return (keys, value) => {
    const target = linkOf(keys, value);
    return target === self ? null : target;
  };
};

const anyLinks = (url: string, self: string): LinkOf => {
  const isInvitation = url.includes('/invitations/');
  const item = itemUrl(url);
  return (keys, value) => {
    const key = keys.at(-1);
    if (key === undefined || keys.some((each) => FREE_FORM.has(each))) return null;
    if (typeof value === 'number') return linkOfNumber(key, value, keys.length === 1 ? item : null);
    if (typeof value !== 'string' || value === '') return null;
    if (key === 'next_cursor') return nextPage(self, value);
    // Nobody has to be a user to be invited.
    if (isInvitation && keys.length === 1 && key === 'email') return null;
    if (PEOPLE.has(key)) return value.includes('@') ? ownLink('/jb/users/:email/', 'email', value) : null;
    if (APPS.has(key)) return ownLink('/jb/apps/:app_id/', 'app_id', value);
    if (key === 'hash' && url.includes('/hashr/')) {
      return ownLink('/hashr/saved_global_filters/:hash/', 'hash', value);
    }
    return key === 'id' && keys.length === 1 && item !== null ? linkTo(item, value) : null;
  };
};

const linkOfNumber = (key: string, value: number, item: string | null): string | null => {
  if (CLIENTS.has(key)) return ownLink('/jb/clients/:id/', 'id', String(value));
  return key === 'id' && item !== null ? linkTo(item, String(value)) : null;
};

/** The path of one element: that of `/jb/clients/:id/apps/` is `/jb/apps/:app_id/`. */
const itemUrl = (url: string): string | null => {
  const collection = url.match(/\/(\w+)\/(?::\w+\/)?$/)?.[1] ?? '';
  const plural = collection === 'site' ? 'sites' : collection;
  const candidates = [`${API}/jb/${plural}/:id/`, `${API}/jb/${plural}/:app_id/`];
  return candidates.find((candidate) => isReadable(apiPath(candidate))) ?? null;
};

const ownLink = (path: string, key: string, value: string): string => filledIn(API + path, { [key]: value });

const linkTo = (url: string, value: string): string => url.replace(/:\w+/, () => encodeURIComponent(value));

const nextPage = (self: string, cursor: string): string => {
  const [path = '', query = ''] = self.split('?');
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return `${path}?${parameters}`;
};
