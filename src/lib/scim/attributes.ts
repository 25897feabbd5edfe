import { isStorableText } from '../json-value.ts';
import { ScimProblem } from './scim-problem.ts';

/** What SCIM resources consist of (RFC 7643): the tables that `/Schemas` shows, and by which requests are read. */

type Type = 'string' | 'boolean' | 'reference' | 'dateTime' | 'complex';

export type Attribute = {
  readonly name: string;
  readonly type: Type;
  readonly multiValued: boolean;
  readonly required: boolean;
  readonly caseExact: boolean;
  readonly mutability: 'readWrite' | 'readOnly' | 'writeOnly' | 'immutable';
  readonly returned: 'default' | 'always' | 'never';
  readonly uniqueness: 'none' | 'server';
  readonly canonicalValues?: readonly string[];
  readonly subAttributes?: readonly Attribute[];
};

const attribute = (name: string, type: Type, rest: Partial<Attribute> = {}): Attribute => ({
  name,
  type,
  multiValued: false,
  required: false,
  caseExact: type === 'reference',
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...rest,
});

const texts = (...names: string[]): Attribute[] => names.map((name) => attribute(name, 'string'));
const complex = (name: string, subAttributes: Attribute[], rest: Partial<Attribute> = {}): Attribute =>
  attribute(name, 'complex', { subAttributes, ...rest });

/** Elements with a value and a type, of which one may be the primary one. */
const plural = (name: string, types: readonly string[] = [], ...more: Attribute[]): Attribute => {
  const type = attribute('type', 'string', types.length > 0 ? { canonicalValues: types } : {});
  const common = [...texts('value', 'display'), type, attribute('primary', 'boolean')];
  return complex(name, [...common, ...more], { multiValued: true });
};

export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const ENTERPRISE_USER = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

const READ_ONLY = { mutability: 'readOnly' } as const;

export const ENTERPRISE_ATTRIBUTES: readonly Attribute[] = [
  ...texts('employeeNumber', 'costCenter', 'organization', 'division', 'department'),
  complex('manager', [
    ...texts('value'),
    attribute('$ref', 'reference'),
    attribute('displayName', 'string', READ_ONLY),
  ]),
];

const PLACES = ['work', 'home', 'other'];

export const USER_ATTRIBUTES: readonly Attribute[] = [
  attribute('userName', 'string', { required: true, uniqueness: 'server' }),
  complex(
    'name',
    texts('formatted', 'familyName', 'givenName', 'middleName', 'honorificPrefix', 'honorificSuffix'),
  ),
  ...texts('displayName', 'nickName'),
  attribute('profileUrl', 'reference'),
  ...texts('title', 'userType', 'preferredLanguage', 'locale', 'timezone'),
  attribute('active', 'boolean'),
  attribute('password', 'string', { mutability: 'writeOnly', returned: 'never' }),
  plural('emails', PLACES),
  plural('phoneNumbers', [...PLACES, 'mobile', 'fax', 'pager']),
  ...['ims', 'photos', 'entitlements', 'roles', 'x509Certificates'].map((name) => plural(name)),
  plural(
    'addresses',
    PLACES,
    ...texts('formatted', 'streetAddress', 'locality', 'region', 'postalCode', 'country'),
  ),
  complex('groups', [...texts('value', 'display', 'type'), attribute('$ref', 'reference')], {
    multiValued: true,
    ...READ_ONLY,
  }),
];

export const GROUP_ATTRIBUTES: readonly Attribute[] = [
  attribute('displayName', 'string', { required: true, uniqueness: 'server' }),
  complex(
    'members',
    [...texts('value', 'display', 'type'), attribute('$ref', 'reference', { mutability: 'immutable' })],
    { multiValued: true },
  ),
];

export const COMMON_ATTRIBUTES: readonly Attribute[] = [
  attribute('id', 'string', { caseExact: true, returned: 'always', ...READ_ONLY }),
  attribute('externalId', 'string', { caseExact: true }),
  complex(
    'meta',
    [
      ...texts('resourceType'),
      attribute('created', 'dateTime'),
      attribute('lastModified', 'dateTime'),
      attribute('location', 'reference'),
      ...texts('version'),
    ],
    READ_ONLY,
  ),
  attribute('schemas', 'string', { multiValued: true, caseExact: true, ...READ_ONLY }),
];

/** The attributes of a resource type, with those of its extension. */
export type ResourceType = {
  readonly name: 'User' | 'Group';
  readonly core: string;
  readonly attributes: readonly Attribute[];
  readonly extensions: Readonly<Record<string, readonly Attribute[]>>;
};

export const USER_TYPE: ResourceType = {
  name: 'User',
  core: USER,
  attributes: [...COMMON_ATTRIBUTES, ...USER_ATTRIBUTES],
  extensions: { [ENTERPRISE_USER]: ENTERPRISE_ATTRIBUTES },
};

export const GROUP_TYPE: ResourceType = {
  name: 'Group',
  core: GROUP,
  attributes: [...COMMON_ATTRIBUTES, ...GROUP_ATTRIBUTES],
  extensions: {},
};

export type Resource = Record<string, unknown>;

/** An attribute that a path names, or one of its sub-attributes. */
export type AttributePath = {
  /** The URN of an extension; null: of the resource itself. */
  schema: string | null;
  /** Undescribed attributes of other extensions are texts. */
  attribute: Attribute;
  sub: Attribute | null;
};

const findByName = (attributes: readonly Attribute[] | undefined, name: string) =>
  attributes?.find((each) => each.name.toLowerCase() === name.toLowerCase());

const URN_PATH = /^(urn:[\w.:-]+):([A-Za-z$][\w$-]*)(?:\.([A-Za-z$][\w$-]*))?$/i;
const PLAIN_PATH = /^([A-Za-z$][\w$-]*)(?:\.([A-Za-z$][\w$-]*))?$/;
/** The URN of an extension, as a key of a resource. */
export const WHOLE_URN = /^urn:[\w.:-]+$/i;

/** The attribute that a path without a filter names, in any case; null if there is none. */
export const findAttribute = (type: ResourceType, path: string): AttributePath | null => {
  const [, urn, ofUrn = '', urnSub] = URN_PATH.exec(path) ?? [];
  const [, plain = '', plainSub] = urn === undefined ? (PLAIN_PATH.exec(path) ?? []) : [];
  const name = ofUrn || plain;
  const schema = urn === undefined ? schemaWithout(type, plain) : schemaNamed(type, urn);
  const known = schema === null ? type.attributes : type.extensions[schema];
  const attributeOf = known ? findByName(known, name) : attribute(name, 'string');
  const subName = urnSub ?? plainSub;
  if (name === '' || !attributeOf) return null;
  if (subName === undefined) return { schema, attribute: attributeOf, sub: null };
  const sub = attributeOf.subAttributes ? findByName(attributeOf.subAttributes, subName) : undefined;
  return sub ? { schema, attribute: attributeOf, sub } : null;
};

/** Directories name attributes of an extension without its URN, too. */
const schemaWithout = (type: ResourceType, name: string): string | null =>
  findByName(type.attributes, name)
    ? null
    : (Object.keys(type.extensions).find((urn) => findByName(type.extensions[urn], name)) ?? null);

const schemaNamed = (type: ResourceType, urn: string): string | null =>
  urn.toLowerCase() === type.core.toLowerCase() ? null : schemaOf(type, urn);

/** The URN of an extension as its table writes it; others stay as they are. */
const schemaOf = (type: ResourceType, urn: string): string =>
  Object.keys(type.extensions).find((known) => known.toLowerCase() === urn.toLowerCase()) ?? urn;

const MAX_TEXT = 1_000;
const MAX_ELEMENTS = 100;

/**
 * The attributes that a directory may state, as the tables describe them: names in their case, `"True"` as true, a single value as a list, a
 * plain text as the `value` of a complex attribute. Ignores unknown ones, those of the service, and passwords. Keeps other extensions.
 * @throws ScimProblem `invalidValue`
 */
export const readResource = (type: ResourceType, sent: unknown): Resource => {
  if (!isObject(sent)) throw new ScimProblem('invalidSyntax', 'The resource must be an object.');
  const resource: Resource = {};
  for (const [key, value] of Object.entries(sent)) {
    const isUrn = WHOLE_URN.test(key);
    if (isUrn && key.toLowerCase() === type.core.toLowerCase())
      Object.assign(resource, readObject(type.attributes, value, key));
    else if (isUrn) setGiven(resource, schemaOf(type, key), readExtension(type, key, value));
    else assignAttribute(resource, type.attributes, key, value);
  }
  return resource;
};

const readExtension = (type: ResourceType, key: string, value: unknown): unknown => {
  const known = type.extensions[schemaOf(type, key)];
  if (value === null) return undefined;
  if (!isObject(value)) throw new ScimProblem('invalidValue', `${key} must be an object.`);
  const read = known ? readObject(known, value, key) : value;
  return Object.keys(read).length === 0 ? undefined : read;
};

const readObject = (attributes: readonly Attribute[], sent: unknown, path: string): Resource => {
  if (!isObject(sent)) throw new ScimProblem('invalidValue', `${path} must be an object.`);
  const read: Resource = {};
  for (const [key, value] of Object.entries(sent)) assignAttribute(read, attributes, key, value, `${path}.`);
  return read;
};

const assignAttribute = (
  into: Resource,
  attributes: readonly Attribute[],
  key: string,
  value: unknown,
  prefix = '',
): void => {
  const known = findByName(attributes, key);
  if (!known || known.mutability === 'readOnly' || known.mutability === 'writeOnly') return;
  setGiven(into, known.name, readValue(known, value, `${prefix}${known.name}`));
};

/** No value and an empty list are the same (RFC 7643, 2.5). */
const setGiven = (into: Resource, name: string, value: unknown): void => {
  if (value !== undefined) into[name] = value;
};

/** @throws ScimProblem `invalidValue` */
export const readValue = (known: Attribute, value: unknown, path: string): unknown => {
  if (value === null || value === undefined) return undefined;
  if (!known.multiValued)
    return readSingle(known, Array.isArray(value) && value.length === 1 ? value[0] : value, path);
  const elements = [value].flat().filter((element) => element !== null);
  if (elements.length > MAX_ELEMENTS)
    throw new ScimProblem('invalidValue', `${path} must have at most ${MAX_ELEMENTS} values.`);
  const read = elements.map((element, index) => readSingle(known, element, `${path}[${index}]`));
  const meaningful = read.filter((element) => element !== undefined && !isEmptyElement(element));
  return meaningful.length === 0 ? undefined : withOnePrimary(meaningful);
};

/** An element without a value: only its kind is left. */
const isEmptyElement = (element: unknown): boolean =>
  isObject(element) && Object.keys(element).every((name) => name === 'type' || name === 'primary');

/** The last one that is stated as the primary one (RFC 7644, 3.5.2). */
const withOnePrimary = (elements: unknown[]): unknown[] => {
  const isPrimary = (element: unknown) => isObject(element) && element.primary === true;
  const last = elements.findLastIndex(isPrimary);
  return elements.map((element, index) =>
    isObject(element) && isPrimary(element) && index !== last ? { ...element, primary: false } : element,
  );
};

/** One value, or one element of a list. @throws ScimProblem `invalidValue` */
export const readSingle = (known: Attribute, value: unknown, path: string): unknown => {
  if (known.subAttributes) {
    const object = isObject(value) ? value : { value };
    const read = readObject(known.subAttributes, object, path);
    return Object.keys(read).length === 0 ? undefined : read;
  }
  if (known.type === 'boolean') return readBoolean(value, path);
  return readText(value, path);
};

/** Microsoft Entra sends `"True"` and `"False"`. */
const readBoolean = (value: unknown, path: string): boolean => {
  const text = typeof value === 'string' ? value.toLowerCase() : value;
  if (text === true || text === 'true') return true;
  if (text === false || text === 'false') return false;
  throw new ScimProblem('invalidValue', `${path} must be true or false.`);
};

const readText = (value: unknown, path: string): string => {
  const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
  if (typeof text !== 'string') throw new ScimProblem('invalidValue', `${path} must be text.`);
  if (text.length > MAX_TEXT)
    throw new ScimProblem('invalidValue', `${path} must have at most ${MAX_TEXT} characters.`);
  if (!isStorableText(text))
    throw new ScimProblem('invalidValue', `${path} has characters that are no text.`);
  return text;
};

export const isObject = (value: unknown): value is Resource =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value of an attribute by its path: that of the primary element of a list, else of its first. */
export const valueAt = (type: ResourceType, resource: Resource, path: string): unknown => {
  const found = findAttribute(type, path);
  if (!found) return undefined;
  const holder = found.schema === null ? resource : resource[found.schema];
  const value = isObject(holder) ? holder[found.attribute.name] : undefined;
  const single = Array.isArray(value)
    ? (value.find((each) => isObject(each) && each.primary === true) ?? value[0])
    : value;
  if (!isObject(single)) return single;
  return single[found.sub?.name ?? 'value'];
};
