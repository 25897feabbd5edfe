import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import {
  type Attribute,
  findAttribute,
  GROUP_TYPE,
  isObject,
  type Resource,
  type ResourceType,
  USER_TYPE,
} from '../../lib/scim/attributes.ts';
import { ScimProblem } from '../../lib/scim/scim-problem.ts';
import type { StoredGroup } from '../../services/directory/groups.ts';
import type { StoredPerson } from '../../services/directory/people.ts';
import type { ListQuery, StoredResource } from '../../services/directory/stored.ts';
import { prepareProblem } from '../rest/problem-document.ts';

/** The messages of SCIM (RFC 7644). */

export const SCIM_JSON = 'application/scim+json';

const MESSAGES = 'urn:ietf:params:scim:api:messages:2.0';

export const MAX_COUNT = 200;
/** Each may have thousands of members. */
const MAX_COUNT_WITH_MEMBERS = 20;

/** Sends a failure in the form of SCIM. */
export const sendScimError = (reply: FastifyReply, error: unknown): FastifyReply => {
  const problem = prepareProblem(reply, error);
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer');
  return reply.type(SCIM_JSON).send(errorBody(problem, error));
};

/** @param problem what the failure is for callers */
export const errorBody = (problem: ReturnType<typeof prepareProblem>, error: unknown) => {
  const fields = Object.entries(problem.fields ?? {}).map(([name, texts]) => `${name}: ${texts.join(' ')}`);
  return {
    schemas: [`${MESSAGES}:Error`],
    status: String(problem.status),
    ...(problem.status === 400 && {
      scimType: problem.code === 'malformed-body' ? 'invalidSyntax' : 'invalidValue',
    }),
    ...(error instanceof ScimProblem && { scimType: error.scimType }),
    detail: fields.length > 0 && problem.code === 'invalid-input' ? fields.join(' ') : problem.message,
  };
};

const names = z.preprocess(
  (value) => (typeof value === 'string' ? value.split(',') : value),
  z.array(z.string().trim().max(200)).max(100).optional(),
);

/** What a query asks for. Texts from a URL, or values of a search. */
const Query = z.object({
  filter: z.string().optional(),
  sortBy: z.string().max(200).optional(),
  sortOrder: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['ascending', 'descending']))
    .optional(),
  startIndex: z.coerce.number().int().default(1),
  count: z.coerce.number().int().default(100),
  attributes: names,
  excludedAttributes: names,
});

export type ScimQuery = z.infer<typeof Query>;

/** @throws ScimProblem `invalidValue` */
export const readQuery = (sent: unknown): ScimQuery => {
  const query = Query.safeParse(sent);
  if (query.success) return query.data;
  const [issue] = query.error.issues;
  throw new ScimProblem(
    'invalidValue',
    `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`,
  );
};

export const listQueryOf = (type: ResourceType, query: ScimQuery): ListQuery => ({
  filter: query.filter,
  sortBy: query.sortBy,
  sortOrder: query.sortOrder,
  startIndex: Math.max(1, query.startIndex),
  count: Math.min(maxCountOf(type, query), Math.max(0, query.count)),
  withRelated: showsRelated(type, query),
});

const maxCountOf = (type: ResourceType, query: ScimQuery): number =>
  type === GROUP_TYPE && showsRelated(type, query) ? MAX_COUNT_WITH_MEMBERS : MAX_COUNT;

/** Whether a response shows the members of a group, or the groups of a user, which are read on demand. */
export const showsRelated = (type: ResourceType, query: ScimQuery): boolean => {
  const name = type === GROUP_TYPE ? 'members' : 'groups';
  const related = findAttribute(type, name);
  return related !== null && isShown(type, query, null, related.attribute);
};

export const listResponse = (total: number, startIndex: number, resources: readonly object[]) => ({
  schemas: [`${MESSAGES}:ListResponse`],
  totalResults: total,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
});

export const versionOf = ({ version }: StoredResource): string => `W/"${version}"`;

const withMeta = (type: ResourceType, base: string, stored: StoredResource, more: Resource): Resource => {
  const { id, resource, created_at, modified_at } = stored;
  const extensions = Object.keys(resource).filter((key) => /^urn:/i.test(key));
  return {
    schemas: [type.core, ...extensions],
    id,
    ...resource,
    ...more,
    meta: {
      resourceType: type.name,
      created: created_at.toISOString(),
      lastModified: modified_at.toISOString(),
      location: locationOf(type, base, stored),
      version: versionOf(stored),
    },
  };
};

export const locationOf = (type: ResourceType, base: string, { id }: Pick<StoredResource, 'id'>): string =>
  `${base}/${type.name}s/${id}`;

/** @param base the address of the directory */
export const userOf = (base: string, person: StoredPerson, query: ScimQuery): Resource => {
  const groups = person.groups.map(({ value, display }) => ({
    value,
    display,
    $ref: `${base}/Groups/${value}`,
    type: 'direct',
  }));
  return project(USER_TYPE, withMeta(USER_TYPE, base, person, groups.length > 0 ? { groups } : {}), query);
};

export const groupOf = (base: string, group: StoredGroup, query: ScimQuery): Resource => {
  const members = group.members?.map(({ value, display }) => ({
    value,
    display,
    $ref: `${base}/Users/${value}`,
    type: 'User',
  }));
  return project(GROUP_TYPE, withMeta(GROUP_TYPE, base, group, members ? { members } : {}), query);
};

/** Whether a query asks for an attribute (RFC 7644, 3.9). */
const isShown = (
  type: ResourceType,
  { attributes = [], excludedAttributes = [] }: Pick<ScimQuery, 'attributes' | 'excludedAttributes'>,
  schema: string | null,
  { name, returned }: Attribute,
): boolean => {
  if (returned === 'always') return true;
  const isNamed = (paths: readonly string[], whole: boolean): boolean =>
    paths.some((path) => {
      if (schema !== null && path.toLowerCase() === schema.toLowerCase()) return true;
      const found = findAttribute(type, path);
      return found?.schema === schema && found.attribute.name === name && !(whole && found.sub);
    });
  if (attributes.length > 0) return isNamed(attributes, false);
  return !isNamed(excludedAttributes, true);
};

/** The part of a resource that a query asks for. */
const project = (type: ResourceType, resource: Resource, query: ScimQuery): Resource => {
  const { attributes = [], excludedAttributes = [] } = query;
  if (attributes.length === 0 && excludedAttributes.length === 0) return resource;
  const paths = attributes.length > 0 ? attributes : excludedAttributes;
  const keeps = attributes.length > 0;
  const part = (schema: string | null, from: Resource): Resource =>
    Object.fromEntries(
      Object.entries(from).flatMap(([name, value]) => {
        const found = findAttribute(type, schema === null ? name : `${schema}:${name}`);
        if (!found || !isShown(type, query, schema, found.attribute)) return [];
        return [[name, partOfValue(type, schema, found.attribute, value, { paths, keeps })]];
      }),
    );
  const { schemas, ...others } = resource;
  const extensions = Object.entries(others).filter(([key]) => /^urn:/i.test(key));
  const own = Object.fromEntries(Object.entries(others).filter(([key]) => !/^urn:/i.test(key)));
  const shown = extensions.flatMap(([urn, value]) => {
    const inner = isObject(value) ? part(urn, value) : {};
    return Object.keys(inner).length > 0 ? [[urn, inner] as const] : [];
  });
  return { schemas, ...part(null, own), ...Object.fromEntries(shown) };
};

type Named = { paths: readonly string[]; keeps: boolean };

/** Of a complex attribute, the sub-attributes that are named, or that are not. */
const partOfValue = (
  type: ResourceType,
  schema: string | null,
  attribute: Attribute,
  value: unknown,
  { paths, keeps }: Named,
): unknown => {
  const found = paths.map((path) => findAttribute(type, path));
  const own = found.filter((each) => each?.schema === schema && each.attribute.name === attribute.name);
  const subs = new Set(own.flatMap((each) => each?.sub?.name ?? []));
  if (subs.size === 0 || (keeps && own.some((each) => each?.sub === null))) return value;
  const partOf = (element: unknown): unknown =>
    isObject(element)
      ? Object.fromEntries(Object.entries(element).filter(([name]) => subs.has(name) === keeps))
      : element;
  return Array.isArray(value) ? value.map(partOf) : partOf(value);
};
