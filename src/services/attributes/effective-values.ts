import { canonicalJson } from '../../lib/json-value.ts';
import type { Attribute, CompiledSchema, Fault } from './attribute-schema.ts';

/*
 * The one rule of data permissions. Of each attribute that the app or its client declares, the last of these counts that has a value: the
 * default of the package, the default of the client, the groups of the person, the claims of the client's provider, the membership, the
 * grant of the app. An access view with data permissions of its own replaces all but the defaults. A missing required value, an unknown key
 * or a wrong value keeps the app closed.
 */

export const LAYERS = ['package', 'client', 'group', 'claim', 'membership', 'grant', 'view'] as const;
export type Layer = (typeof LAYERS)[number];

/** `name`: of the group; otherwise null. */
export type Source = { from: Layer; name: string | null };

export type Values = Readonly<Record<string, unknown>>;

/** The groups are in the order in which their single values count: the first has the last word. */
export type Given = {
  groups: readonly { name: string; values: Values }[];
  claims: Values | null;
  /** `extra` of the membership, or of the account of a person who does not belong to the client. */
  membership: Values | null;
  grant: Values | null;
  /** Data permissions of the access view; null if it has none. */
  view: Values | null;
};

type Valued = { value: unknown; sources: Source[] };

/** `overrides`: the values that do not count, the nearest first. */
export type Effective = Valued & { key: string; overrides: Valued[] };

export type Outcome = { values: Record<string, unknown>; attributes: Effective[]; faults: Fault[] };

type Schemas = { app: CompiledSchema | null; client: CompiledSchema | null };

/** @param declared keys that the client or a package of one of its apps declares; others are mistyped */
export const effectiveValues = (schemas: Schemas, given: Given, declared: readonly string[]): Outcome => {
  const keys = new Set(
    [schemas.client, schemas.app].flatMap((schema) => Object.keys(schema?.properties ?? {})),
  );
  const attributes: Effective[] = [];
  for (const key of keys) {
    const [first, ...overrides] = layersOf(schemas, given, key);
    if (first) attributes.push({ key, ...first, overrides });
  }
  const values = Object.fromEntries(attributes.map(({ key, value }) => [key, value]));
  return { values, attributes, faults: faultsOf(schemas, values, unknownIn(given, declared)) };
};

/** What an access view replaces does not count, nor do its mistyped keys. Read here, because PostgreSQL cannot read keys beside a NUL. */
const unknownIn = (
  { view, membership, claims, grant, groups }: Given,
  declared: readonly string[],
): string[] => {
  const layers = view ? [view] : [membership, claims, grant, ...groups.map(({ values }) => values)];
  const keys = new Set(layers.flatMap((values) => Object.keys(values ?? {})));
  return [...keys].filter((key) => !declared.includes(key)).sort();
};

/** The values of an attribute, the strongest first. */
const layersOf = (schemas: Schemas, given: Given, key: string): Valued[] => {
  const [app, client] = [schemas.app?.properties[key], schemas.client?.properties[key]];
  const { view, grant, membership, claims } = given;
  const own = view
    ? [valueIn(view, key, 'view')]
    : [
        valueIn(grant, key, 'grant'),
        valueIn(membership, key, 'membership'),
        valueIn(claims, key, 'claim'),
        valueOfGroups(given.groups, key, [app, client]),
      ];
  const defaults = [defaultOf(client, 'client'), defaultOf(app, 'package')];
  return [...own, ...defaults].filter((valued) => valued !== null);
};

const valueIn = (values: Values | null, key: string, from: Layer): Valued | null =>
  values && Object.hasOwn(values, key) ? { value: values[key], sources: [{ from, name: null }] } : null;

const defaultOf = (attribute: Attribute | undefined, from: Layer): Valued | null =>
  attribute?.default === undefined ? null : { value: attribute.default, sources: [{ from, name: null }] };

/** Lists are united. Of other values, that of the first group counts. */
const valueOfGroups = (
  groups: Given['groups'],
  key: string,
  declared: readonly (Attribute | undefined)[],
): Valued | null => {
  const having = groups.filter(({ values }) => Object.hasOwn(values, key));
  const lists = having.map(({ values }) => values[key]).filter((value) => Array.isArray(value));
  const areUnited =
    lists.length === having.length &&
    declared.every((attribute) => attribute?.['x-steward']?.multiple !== false);
  const counting = areUnited ? having : having.slice(0, 1);
  const [first] = counting;
  if (!first) return null;
  const united = new Map(lists.flat().map((item) => [canonicalJson(item), item]));
  return {
    value: areUnited ? [...united.values()] : first.values[key],
    sources: counting.map(({ name }) => ({ from: 'group', name })),
  };
};

const MAX_FAULTS = 20;

/** The first ones, each once, although the package and the client may find the same. */
const faultsOf = (schemas: Schemas, values: Values, unknown: readonly string[]): Fault[] => {
  const faults = [
    ...unknown.map((key) => ({ key, message: 'is not an attribute of this client or its apps' })),
    ...(schemas.app?.check(values) ?? []),
    ...(schemas.client?.check(values) ?? []),
    ...unlistedIn(schemas),
  ];
  return [...new Map(faults.map((fault) => [`${fault.key} ${fault.message}`, fault])).values()].slice(
    0,
    MAX_FAULTS,
  );
};

const hasList = (attribute: Attribute | undefined): boolean =>
  attribute?.enum !== undefined || attribute?.items?.enum !== undefined;

const unlistedIn = ({ app, client }: Schemas): Fault[] =>
  Object.entries(app?.properties ?? {})
    .filter(([, attribute]) => attribute['x-steward']?.values_from === 'client')
    .filter(([key]) => !hasList(client?.properties[key]))
    .map(([key]) => ({ key, message: 'takes only values that the client lists, and the client lists none' }));

const NAMES: Record<Layer, string> = {
  package: 'the package',
  client: 'the attributes of the client',
  group: 'the group',
  claim: 'the identity provider',
  membership: 'the data of the person',
  grant: 'the grant of the app',
  view: 'the access view',
};

/** What to change, for an admin: `Set region for the person, one of their groups, or in the grant.` */
export const fixOf = ({ faults, attributes }: Outcome): string =>
  [...new Set(faults.map(({ key }) => key))]
    .map((key) => {
      const found = attributes.find((attribute) => attribute.key === key);
      if (!found) return `Set ${key}, or remove it, for the person, in their groups, or in the grant.`;
      const places = found.sources.map(({ from, name }) =>
        name === null ? NAMES[from] : `${NAMES[from]} ${name}`,
      );
      return `Correct ${key} in ${places.join(' and ')}.`;
    })
    .join(' ');

/** `region is required; team must be string`. */
export const describeFaults = (faults: readonly Fault[]): string =>
  faults.map(({ key, message }) => `${key} ${message}`.trim()).join('; ');

/** The names of attributes, for the audit trail: values may be sensitive. */
export const namesOf = (attributes: object | null | undefined): string =>
  Object.keys(attributes ?? {}).join(', ');
