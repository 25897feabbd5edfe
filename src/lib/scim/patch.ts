import { ScimError, scimPatch } from 'scim-patch';
import type { Filter } from 'scim2-parse-filter';
import { isStorableText } from '../json-value.ts';
import {
  type Attribute,
  findAttribute,
  isObject,
  type Resource,
  type ResourceType,
  readResource,
  readSingle,
  readValue,
  WHOLE_URN,
} from './attributes.ts';
import { parseFilter } from './filters.ts';
import { ScimProblem } from './scim-problem.ts';

export const PATCH_MESSAGE = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

const OPERATIONS = ['add', 'replace', 'remove'] as const;
const MAX_OPERATIONS = 1_000;
const MAX_PATH = 500;
const MAX_MEMBERS = 20_000;

/** An operation on one attribute, whose names are those of the tables. */
type Operation = {
  op: (typeof OPERATIONS)[number];
  schema: string | null;
  attribute: Attribute;
  sub: Attribute | null;
  /** With its brackets; empty if there is none. */
  filter: string;
  value: unknown;
};

/** How a request changes the members of a group: one step after the other. */
export type MemberStep = { kind: 'add' | 'remove' | 'set'; ids: string[] };

const PATH = /^((?:urn:[\w.:-]+:)?[A-Za-z$][\w$-]*)(\[.*\])?(?:\.([A-Za-z$][\w$-]*))?$/is;

/**
 * The operations of a PATCH, each on one attribute. Directories write `op` in any case, and send objects without a path whose keys are
 * paths.
 * @throws ScimProblem `invalidSyntax`, `invalidPath`, `invalidValue`, `mutability`, `noTarget`
 */
export const readOperations = (type: ResourceType, body: unknown): Operation[] => {
  const [, sent] =
    Object.entries(isObject(body) ? body : {}).find(([key]) => /^operations$/i.test(key)) ?? [];
  if (!Array.isArray(sent) || sent.length === 0 || sent.length > MAX_OPERATIONS)
    throw new ScimProblem('invalidSyntax', `Operations must be a list of 1 to ${MAX_OPERATIONS} operations.`);
  const operations = sent.flatMap((each: unknown) => readOperation(type, each));
  // Without a path, one operation changes as many attributes as its value has.
  if (operations.length > MAX_OPERATIONS)
    throw new ScimProblem('invalidSyntax', `Operations must change at most ${MAX_OPERATIONS} attributes.`);
  return operations;
};

const readOperation = (type: ResourceType, sent: unknown): Operation[] => {
  const { op: name, path, value } = isObject(sent) ? sent : {};
  const op = OPERATIONS.find((each) => each === String(name).toLowerCase());
  if (!op) throw new ScimProblem('invalidSyntax', 'op must be add, replace or remove.');
  if (path !== undefined && path !== null && path !== '') {
    if (typeof path !== 'string' || path.length > MAX_PATH)
      throw new ScimProblem('invalidPath', `path must be text of at most ${MAX_PATH} characters.`);
    return onPath(type, op, path, value);
  }
  if (op === 'remove') throw new ScimProblem('noTarget', 'remove needs a path.');
  if (!isObject(value)) throw new ScimProblem('invalidValue', 'Without a path, value must be an object.');
  return Object.entries(value)
    .filter(([key]) => !IGNORED.has(key.toLowerCase()))
    .flatMap(([key, inner]) => onPath(type, op, key, inner));
};

/** Microsoft Entra sends `[primary eq "True"]`. */
const PRIMARY = /(\bprimary\s+(?:eq|ne)\s+)"(true|false)"/gi;

/** Directories send them back as they got them. */
const IGNORED = new Set(['schemas', 'id', 'meta']);

const onPath = (type: ResourceType, op: Operation['op'], path: string, value: unknown): Operation[] => {
  const extension = Object.keys(type.extensions).find((urn) => urn.toLowerCase() === path.toLowerCase());
  if (extension !== undefined) return onExtension(type, op, extension, value);
  if (isObject(value) && isOtherExtension(type, path)) return onExtension(type, op, path, value);
  const [, name = '', sentFilter = '', subName] = PATH.exec(path) ?? [];
  const filter = sentFilter.replace(
    PRIMARY,
    (_, comparison: string, value: string) => comparison + value.toLowerCase(),
  );
  const found = findAttribute(type, subName === undefined ? name : `${name}.${subName}`);
  if (!found) throw new ScimProblem('invalidPath', `There is no attribute ${path}.`);
  const { schema, attribute, sub } = found;
  if (attribute.mutability === 'readOnly' || sub?.mutability === 'readOnly')
    throw new ScimProblem('mutability', `${attribute.name} cannot be changed.`);
  if (attribute.mutability === 'writeOnly') return [];
  if (filter !== '' && !attribute.multiValued)
    throw new ScimProblem('invalidPath', `${attribute.name} has no elements that a filter can choose.`);
  const target = sub ?? attribute;
  // The value of a missing attribute is no value.
  const removes = op === 'remove' || value === null || value === '';
  const isMembers = type.name === 'Group' && attribute.name === 'members';
  const isElement = filter !== '' && sub === null;
  const read = isElement ? readSingle : readValue;
  return [
    {
      // An existing value is replaced by either (RFC 7644, 3.5.2.1).
      op: removes ? 'remove' : op === 'add' && !target.multiValued && !isElement ? 'replace' : op,
      schema,
      attribute,
      sub,
      filter,
      value: isMembers || removes ? value : read(target, value, path),
    },
  ];
};

/** Attributes of extensions that the tables do not describe are texts: an object is the extension itself. */
const isOtherExtension = (type: ResourceType, path: string): boolean =>
  WHOLE_URN.test(path) &&
  ![type.core, ...Object.keys(type.extensions)].some((urn) =>
    path.toLowerCase().startsWith(`${urn.toLowerCase()}:`),
  );

const onExtension = (type: ResourceType, op: Operation['op'], urn: string, value: unknown): Operation[] => {
  const names = op === 'remove' ? (type.extensions[urn] ?? []).map(({ name }) => [name, undefined]) : [];
  const given = op !== 'remove' && isObject(value) ? Object.entries(value) : names;
  return given.flatMap(([name, inner]) => onPath(type, op, `${urn}:${String(name)}`, inner));
};

/**
 * Applies operations to a resource.
 * @throws ScimProblem `invalidPath`, `invalidValue`, `noTarget`
 */
export const patchResource = (
  type: ResourceType,
  resource: Resource,
  operations: readonly Operation[],
): Resource => {
  // The library's types of resources and operations are narrower than what directories send.
  const patched = operations.reduce<unknown>(applyStep, structuredClone(resource));
  return readResource(type, patched);
};

const OPTIONS = { mutateDocument: true, treatMissingAsAdd: true };

const applyStep = (resource: unknown, { op, schema, attribute, sub, filter, value }: Operation): unknown => {
  if (filter !== '') parseFilter(filter.slice(1, -1), 'invalidPath');
  const prefix = schema === null ? '' : `${schema}:`;
  const path = `${prefix}${attribute.name}${filter}${sub ? `.${sub.name}` : ''}`;
  const step = op === 'remove' ? { op, path } : { op, path, value };
  if (isPrimary(sub, value)) clearPrimary(resource, schema, attribute);
  try {
    return scimPatch(resource as never, [step] as never, OPTIONS);
  } catch (error) {
    if (!(error instanceof ScimError)) throw error;
    // What is not there need not be removed.
    if (op === 'remove') return resource;
    throw new ScimProblem(error.scimCode === 'noTarget' ? 'noTarget' : 'invalidPath', error.message);
  }
};

/** Whether an operation makes an element the primary one, whichever was (RFC 7644, 3.5.2). */
const isPrimary = (sub: Attribute | null, value: unknown): boolean =>
  sub === null
    ? [value].flat().some((element) => isObject(element) && element.primary === true)
    : sub.name === 'primary' && value === true;

const clearPrimary = (resource: unknown, schema: string | null, { name }: Attribute): void => {
  const holder = isObject(resource) && schema !== null ? resource[schema] : resource;
  const elements = isObject(holder) ? holder[name] : undefined;
  for (const element of Array.isArray(elements) ? elements : [])
    if (isObject(element) && element.primary === true) element.primary = false;
};

/** The operations on the members of a group, and the others. @throws ScimProblem `invalidValue`, `invalidPath` */
export const splitMembers = (operations: readonly Operation[]) => {
  const { members = [], others = [] } = Object.groupBy(operations, ({ attribute }) =>
    attribute.name === 'members' ? 'members' : 'others',
  );
  return { steps: members.map(stepOf), others };
};

const stepOf = ({ op, filter, value, sub }: Operation): MemberStep => {
  if (sub) throw new ScimProblem('invalidPath', 'Members are added and removed as a whole.');
  if (op !== 'remove') {
    if (filter !== '') throw new ScimProblem('invalidPath', 'A filter of members can only be removed.');
    return { kind: op === 'add' ? 'add' : 'set', ids: readMembers(value) };
  }
  if (filter !== '')
    return { kind: 'remove', ids: idsInFilter(parseFilter(filter.slice(1, -1), 'invalidPath')) };
  return value === undefined || value === null
    ? { kind: 'set', ids: [] }
    : { kind: 'remove', ids: readMembers(value) };
};

/** The ids in `value eq "1" or value eq "2"`. */
const idsInFilter = (filter: Filter): string[] => {
  if (filter.op === 'or') return filter.filters.flatMap(idsInFilter);
  if (filter.op === 'eq' && filter.attrPath.toLowerCase() === 'value') return [String(filter.compValue)];
  throw new ScimProblem('invalidPath', 'Members are removed by `members[value eq "…"]`.');
};

/** The ids of the members that a request names. @throws ScimProblem `invalidValue` */
export const readMembers = (sent: unknown): string[] => {
  const elements = sent === undefined || sent === null ? [] : [sent].flat();
  if (elements.length > MAX_MEMBERS)
    throw new ScimProblem('invalidValue', `members must have at most ${MAX_MEMBERS} values.`);
  return [...new Set(elements.map(idOfMember))];
};

const idOfMember = (element: unknown): string => {
  const { value, type } = isObject(element) ? element : { value: element };
  if (String(type).toLowerCase() === 'group')
    throw new ScimProblem('invalidValue', 'members: groups cannot be members of groups.');
  if (typeof value !== 'string' || !isStorableText(value))
    throw new ScimProblem('invalidValue', 'members: each needs the id of a user as its value.');
  return value;
};
