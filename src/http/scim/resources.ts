import { notFound, Problem } from '../../lib/problems.ts';
import { GROUP_TYPE, type ResourceType, USER_TYPE } from '../../lib/scim/attributes.ts';
import type { ActingDirectory } from '../../services/directory/directory-rows.ts';
import type { StoredGroup } from '../../services/directory/groups.ts';
import type { StoredPerson } from '../../services/directory/people.ts';
import type { Precondition, StoredResource } from '../../services/directory/stored.ts';
import type { Services } from '../../services/index.ts';
import {
  groupOf,
  listQueryOf,
  listResponse,
  locationOf,
  readQuery,
  type ScimQuery,
  showsRelated,
  userOf,
  versionOf,
} from './messages.ts';

/** The users and groups of a directory, over HTTP or as an operation of a bulk request. */

export type Answer = { status: number; headers?: Record<string, string>; body?: unknown };

export const RESOURCE_PATH = /^\/(Users|Groups)(?:\/([^/]+))?$/;

export type ResourceRequest = {
  /** The address of the directory. */
  base: string;
  directory: ActingDirectory;
  method: string;
  path: string;
  body: unknown;
  query: unknown;
  ifMatch: string | null;
  ifNoneMatch: string | null;
};

/** What a resource type does, whichever it is. */
type Handler = {
  type: ResourceType;
  list: (query: ScimQuery) => Promise<{ total: number; items: { stored: StoredResource; body: object }[] }>;
  get: (id: string, query: ScimQuery) => Promise<{ stored: StoredResource; body: object }>;
  create: (body: unknown, query: ScimQuery) => Promise<{ stored: StoredResource; body: object }>;
  replace: Change;
  patch: Change;
  remove: (id: string, precondition: Precondition) => Promise<void>;
};
type Change = (
  id: string,
  body: unknown,
  precondition: Precondition,
  query: ScimQuery,
) => Promise<{ stored: StoredResource; body: object }>;

const usersOf = (
  { directoryPeople: people }: Services,
  base: string,
  directory: ActingDirectory,
): Handler => {
  const shown = (query: ScimQuery) => (stored: StoredPerson) => ({
    stored,
    body: userOf(base, stored, query),
  });
  return {
    type: USER_TYPE,
    list: async (query) => {
      const { total, items } = await people.list(directory, listQueryOf(USER_TYPE, query));
      return { total, items: items.map(shown(query)) };
    },
    get: (id, query) => people.get(directory, id).then(shown(query)),
    create: (body, query) => people.create(directory, body).then(shown(query)),
    replace: (id, body, precondition, query) =>
      people.replace(directory, id, body, precondition).then(shown(query)),
    patch: (id, body, precondition, query) =>
      people.patch(directory, id, body, precondition).then(shown(query)),
    remove: (id, precondition) => people.remove(directory, id, precondition),
  };
};

const groupsOf = (
  { directoryGroups: groups }: Services,
  base: string,
  directory: ActingDirectory,
): Handler => {
  const shown = (query: ScimQuery) => (stored: StoredGroup) => ({
    stored,
    body: groupOf(base, stored, query),
  });
  const withMembers = (query: ScimQuery): boolean => showsRelated(GROUP_TYPE, query);
  return {
    type: GROUP_TYPE,
    list: async (query) => {
      const { total, items } = await groups.list(directory, listQueryOf(GROUP_TYPE, query));
      return { total, items: items.map(shown(query)) };
    },
    get: (id, query) => groups.get(directory, id, withMembers(query)).then(shown(query)),
    create: (body, query) => groups.create(directory, body).then(shown(query)),
    replace: (id, body, precondition, query) =>
      groups.replace(directory, id, body, precondition, withMembers(query)).then(shown(query)),
    patch: (id, body, precondition, query) =>
      groups.patch(directory, id, body, precondition, withMembers(query)).then(shown(query)),
    remove: (id, precondition) => groups.remove(directory, id, precondition),
  };
};

/** @throws the problems of the services; Problem `not-found`, `method-not-allowed` */
export const answerResource = async (services: Services, request: ResourceRequest): Promise<Answer> => {
  const { base, directory, method, path, body } = request;
  const [, kind, id] = RESOURCE_PATH.exec(path) ?? [];
  const handler = (kind === 'Groups' ? groupsOf : usersOf)(services, base, directory);
  if (id === '.search' && method === 'POST') return list(handler, readQuery(body));
  const query = readQuery(request.query ?? {});
  if (id === undefined) {
    if (method === 'GET') return list(handler, query);
    if (method !== 'POST')
      throw new Problem('method-not-allowed', { detail: 'This path supports GET and POST.' });
    const created = await handler.create(body, query);
    const location = locationOf(handler.type, base, created.stored);
    return { status: 201, headers: { location, etag: versionOf(created.stored) }, body: created.body };
  }
  if (!isId(id)) throw notFound('resource in this directory');
  const precondition = preconditionOf(request.ifMatch);
  switch (method) {
    case 'GET':
      return read(handler, id, query, request.ifNoneMatch);
    case 'PUT':
      return changed(await handler.replace(id, body, precondition, query));
    case 'PATCH':
      return changed(await handler.patch(id, body, precondition, query));
    case 'DELETE':
      await handler.remove(id, precondition);
      return { status: 204 };
    default:
      throw new Problem('method-not-allowed', { detail: 'This path supports GET, PUT, PATCH and DELETE.' });
  }
};

/** PostgreSQL cannot read all text. */
const isId = (id: string): boolean => /^[\w-]{1,36}$/.test(id);

const list = async (handler: Handler, query: ScimQuery): Promise<Answer> => {
  const { total, items } = await handler.list(query);
  const resources = items.map(({ body }) => body);
  return { status: 200, body: listResponse(total, Math.max(1, query.startIndex), resources) };
};

const read = async (
  handler: Handler,
  id: string,
  query: ScimQuery,
  ifNoneMatch: string | null,
): Promise<Answer> => {
  const { stored, body } = await handler.get(id, query);
  const headers = { etag: versionOf(stored) };
  const isKnown = ifNoneMatch !== null && matches(ifNoneMatch, stored.version);
  return isKnown ? { status: 304, headers } : { status: 200, headers, body };
};

const changed = ({ stored, body }: { stored: StoredResource; body: object }): Answer => ({
  status: 200,
  headers: { etag: versionOf(stored) },
  body,
});

const preconditionOf = (ifMatch: string | null): Precondition =>
  ifMatch === null ? null : (version) => matches(ifMatch, version);

/** Versions are weak, so the comparison is. */
const matches = (header: string, version: number): boolean =>
  header.split(',').some((each) => ['*', `"${version}"`].includes(each.trim().replace(/^W\//i, '')));
