import { useQuery } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';

type Declarations = Outputs['dataPermissions']['getSchema'];
export type AppRole = Declarations['apps'][number]['roles'][number];

/** The keywords of a schema that forms read. */
type Keywords = {
  title?: string;
  description?: string;
  type?: unknown;
  enum?: unknown[];
  format?: string;
  items?: Keywords;
  default?: unknown;
  'x-steward'?: { values_from?: 'client' };
};
type Schema = { properties?: Record<string, Keywords>; required?: string[] };

/** How a form asks for the value of an attribute. */
type Kind = 'choices' | 'choice' | 'tags' | 'text' | 'date' | 'number' | 'integer' | 'flag' | 'json';

/** An attribute of data permissions, as the client and its apps together allow it. */
export type Attribute = {
  key: string;
  title: string;
  description: string;
  isRequired: boolean;
  kind: Kind;
  /** For `choices` and `choice`. */
  options: unknown[];
  /** Applies if nothing else gives a value; undefined: no default. */
  fallback: unknown;
};

export type Declared = {
  attributes: Attribute[];
  /** By app id, for apps that declare roles. */
  roles: ReadonlyMap<string, AppRole[]>;
  isPending: boolean;
};

/**
 * What a client and its apps declare.
 * @param client undefined: nothing is read
 * @param appId the only app whose attributes count; undefined: all apps of the client
 */
export const useDeclared = (client: number | undefined, appId?: string): Declared => {
  const { data, isPending } = useQuery(
    trpc.dataPermissions.getSchema.queryOptions({ id: client ?? 0 }, { enabled: client !== undefined }),
  );
  return { ...declaredIn(data, appId), isPending };
};

export const declaredIn = (data: Declarations | undefined, appId?: string): Omit<Declared, 'isPending'> => {
  const apps = data?.apps ?? [];
  const schemas = [
    data?.schema,
    ...apps.filter(({ id }) => appId === undefined || id === appId).map(({ schema }) => schema),
  ].filter((schema): schema is Schema => Boolean(schema));
  const keys = new Set(schemas.flatMap(({ properties = {} }) => Object.keys(properties)));
  return {
    attributes: [...keys].map((key) => merged(key, schemas)),
    roles: new Map(apps.filter(({ roles }) => roles.length > 0).map(({ id, roles }) => [id, roles])),
  };
};

/** A value has to satisfy all schemas; texts and defaults of the client come first. */
const merged = (key: string, schemas: readonly Schema[]): Attribute => {
  const all = schemas.flatMap(({ properties = {} }) => properties[key] ?? []);
  const lists = all
    .flatMap(({ enum: own, items }) => [own ?? items?.enum ?? []])
    .filter((list) => list.length > 0);
  const [first = [], ...others] = lists;
  const options = first.filter((option) =>
    others.every((list) => list.some((other) => isSame(other, option))),
  );
  const kinds = all.map(kindOf);
  return {
    key,
    title: all.find(({ title }) => title)?.title ?? key,
    description: all.find(({ description }) => description)?.description ?? '',
    isRequired: schemas.some(({ required }) => required?.includes(key)),
    kind: kinds.find((kind) => kind === 'choices' || kind === 'choice') ?? kinds[0] ?? 'json',
    options,
    fallback: all.find((one) => one.default !== undefined)?.default,
  };
};

const kindOf = ({ type, items, format, ...keywords }: Keywords): Kind => {
  if (keywords.enum) return keywords.enum.every(isScalar) ? 'choice' : 'json';
  if (type === 'array' && items?.enum?.every(isScalar)) return 'choices';
  if (type === 'array' && items?.type === 'string') return 'tags';
  if (type === 'string') return format === 'date' ? 'date' : 'text';
  if (type === 'number' || type === 'integer') return type;
  return type === 'boolean' ? 'flag' : 'json';
};

const isScalar = (value: unknown): boolean => typeof value !== 'object';

export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** What keeps a value from being shown in the field of its kind; null if nothing does. */
export const misfitOf = ({ kind }: Attribute, value: unknown): string | null => {
  if (value === undefined || kind === 'json' || kind === 'choice') return null;
  if (kind === 'choices' || kind === 'tags')
    return Array.isArray(value) && value.every(isScalar) ? null : 'must be a list';
  if (kind === 'number' || kind === 'integer')
    return typeof value === 'number' || typeof value === 'bigint' ? null : 'must be a number';
  if (kind === 'flag') return typeof value === 'boolean' ? null : 'must be true or false';
  return typeof value === 'string' ? null : 'must be text';
};

/** Values that the attribute does not offer. */
export const foreignIn = ({ kind, options }: Attribute, value: unknown): unknown[] =>
  kind === 'choices' || kind === 'choice'
    ? [value ?? []].flat().filter((item) => !options.some((option) => isSame(option, item)))
    : [];

/** `North, South`. */
export const textOf = (value: unknown): string => {
  if (Array.isArray(value)) return value.length === 0 ? 'nothing' : value.map(textOf).join(', ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

/** The declared key that someone meant by a mistyped one; undefined if none is near. */
export const nearestKey = (typed: string, keys: readonly string[]): string | undefined => {
  const near = keys.filter((key) => distance(typed.toLowerCase(), key.toLowerCase()) <= MAX_TYPOS);
  return near.length === 1 ? near[0] : undefined;
};

const MAX_TYPOS = 2;

/** How many letters to insert, remove or replace. */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [line, letter] of [...one].entries()) {
    const next = [line + 1];
    for (const [index, wanted] of [...other].entries())
      next.push(
        Math.min(
          (row[index + 1] ?? 0) + 1,
          (next[index] ?? 0) + 1,
          (row[index] ?? 0) + (letter === wanted ? 0 : 1),
        ),
      );
    row = next;
  }
  return row.at(-1) ?? 0;
};
