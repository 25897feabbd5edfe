import { type RawBuilder, sql } from 'kysely';
import type { Filter } from 'scim2-parse-filter';
import { type Condition, condition } from '../../db/kysely.ts';
import {
  type Attribute,
  type AttributePath,
  findAttribute,
  type ResourceType,
} from '../../lib/scim/attributes.ts';
import { ScimProblem } from '../../lib/scim/scim-problem.ts';
import { readInstant } from '../../lib/typed-text.ts';

const MAX_CONDITIONS = 50;

/** How a table stores the attributes of its resources: columns for some, the document for the others. */
export type Columns = {
  type: ResourceType;
  document: RawBuilder<unknown>;
  /** By name in lower case: the SQL of an attribute, and its type where it is no text. */
  columns: Readonly<Record<string, RawBuilder<unknown>>>;
  /** SQL: a condition that an index serves, and which this value of an attribute needs. */
  indexed?: (path: string, value: string) => Condition | null;
  /** SQL: the ids of the elements of an attribute that the service assigns. */
  related?: Readonly<Record<string, RawBuilder<unknown>>>;
};

type Comparison = Extract<Filter, { compValue: unknown }>;

/**
 * SQL of a filter (RFC 7644, 3.4.2.2).
 * @throws ScimProblem `invalidFilter`
 */
export const filterCondition = (columns: Columns, filter: Filter): Condition => {
  let left = MAX_CONDITIONS;
  const visit = (each: Filter): Condition => {
    left -= 1;
    if (left < 0)
      throw new ScimProblem('invalidFilter', `The filter must have at most ${MAX_CONDITIONS} conditions.`);
    switch (each.op) {
      case 'and':
      case 'or':
        return condition`(${sql.join(each.filters.map(visit), each.op === 'and' ? sql` and ` : sql` or `)})`;
      case 'not':
        return condition`(not coalesce(${visit(each.filter)}, false))`;
      case '[]':
        return elementCondition(columns, each.attrPath, each.valFilter);
      default:
        return attributeCondition(columns, each);
    }
  };
  return visit(filter);
};

const requireAttribute = ({ type }: Columns, path: string): AttributePath => {
  const found = findAttribute(type, path);
  if (!found || found.attribute.returned === 'never')
    throw new ScimProblem('invalidFilter', `There is no attribute ${path}.`);
  return found;
};

type Simple = Comparison | Extract<Filter, { op: 'pr' }>;

const attributeCondition = (columns: Columns, simple: Simple): Condition => {
  const { attribute, sub, schema } = requireAttribute(columns, simple.attrPath);
  const name = [attribute.name, sub?.name].filter(Boolean).join('.').toLowerCase();
  const own = schema === null ? columns.columns[name] : undefined;
  const related = schema === null ? columns.related?.[attribute.name.toLowerCase()] : undefined;
  if (own) return compare(own, sub ?? attribute, simple);
  if (related) return relatedCondition(related, simple);
  if (attribute.multiValued) {
    const element = sub?.name ?? 'value';
    const inner = { ...simple, attrPath: element };
    return elementCondition(columns, simple.attrPath.replace(/(\]?)\.[^.]*$/, '$1'), inner, attribute);
  }
  const path = [...(schema === null ? [] : [schema]), attribute.name, ...(sub ? [sub.name] : [])];
  if (attribute.subAttributes && !sub && simple.op !== 'pr')
    return compare(textAt(columns.document, [...path, 'value']), attribute, simple);
  return compare(textAt(columns.document, path), sub ?? attribute, simple);
};

const textAt = (document: RawBuilder<unknown>, path: readonly string[]) =>
  sql<string | null>`(${document} #>> ${[...path]}::text[])`;

/** SQL: whether an element of a list meets a filter about its sub-attributes. */
const elementCondition = (columns: Columns, path: string, filter: Filter, known?: Attribute): Condition => {
  const attribute = known ?? requireAttribute(columns, path).attribute;
  const related = columns.related?.[attribute.name.toLowerCase()];
  if (related && 'attrPath' in filter && filter.op !== '[]') return relatedCondition(related, filter);
  if (!attribute.multiValued || !attribute.subAttributes || related)
    throw new ScimProblem('invalidFilter', `${path} has no elements that a filter can choose.`);
  const visit = (each: Filter): Condition => {
    if ('filters' in each)
      return condition`(${sql.join(each.filters.map(visit), each.op === 'and' ? sql` and ` : sql` or `)})`;
    if (each.op === 'not') return condition`(not coalesce(${visit(each.filter)}, false))`;
    if (each.op === '[]') throw new ScimProblem('invalidFilter', 'A filter in brackets has no brackets.');
    const sub = attribute.subAttributes?.find(
      ({ name }) => name.toLowerCase() === each.attrPath.toLowerCase(),
    );
    if (!sub) throw new ScimProblem('invalidFilter', `${attribute.name} has no attribute ${each.attrPath}.`);
    return compare(sql`(element ->> ${sub.name})`, sub, each);
  };
  const list = sql`(${columns.document} -> ${attribute.name})`;
  const found = condition`exists (
    select from json_array_elements(case when json_typeof(${list}) = 'array' then ${list} end) as element where ${visit(filter)})`;
  const indexed = valuesIn(filter).map((value) => columns.indexed?.(attribute.name, value) ?? null);
  const first = indexed.find((each) => each !== null);
  return first ? condition`(${first} and ${found})` : found;
};

/** The texts that the value of an element must be equal to. */
const valuesIn = (filter: Filter): string[] => {
  if (filter.op === 'and') return filter.filters.flatMap(valuesIn);
  return filter.op === 'eq' && filter.attrPath.toLowerCase() === 'value' ? [String(filter.compValue)] : [];
};

const relatedCondition = (ids: RawBuilder<unknown>, simple: Simple): Condition => {
  if (simple.op === 'pr') return condition`exists (${ids})`;
  if (simple.op !== 'eq')
    throw new ScimProblem('invalidFilter', `${simple.attrPath} can only be compared by eq.`);
  return condition`${String(simple.compValue)} in (${ids})`;
};

const compare = (
  left: RawBuilder<unknown>,
  { type, caseExact, name }: Attribute,
  simple: Simple,
): Condition => {
  if (simple.op === 'pr') return condition`(${left} is not null)`;
  const { op, compValue } = simple;
  if (compValue === null) {
    if (op !== 'eq' && op !== 'ne')
      throw new ScimProblem('invalidFilter', `${name}: null can only be compared by eq and ne.`);
    return op === 'eq' ? condition`(${left} is null)` : condition`(${left} is not null)`;
  }
  if (type === 'boolean') return compareBoolean(left, name, simple);
  if (type === 'dateTime') return compareTime(left, name, simple);
  const text = String(compValue);
  const [a, b] = caseExact ? [left, sql`${text}::text`] : [sql`lower(${left})`, sql`lower(${text}::text)`];
  return compareText(op, a, b);
};

const ORDER = { gt: sql`>`, ge: sql`>=`, lt: sql`<`, le: sql`<=` } as const;

const compareText = (op: Comparison['op'], a: RawBuilder<unknown>, b: RawBuilder<unknown>): Condition => {
  switch (op) {
    case 'eq':
      return condition`(${a} = ${b})`;
    case 'ne':
      return condition`(${a} is distinct from ${b})`;
    case 'co':
      return condition`(strpos(${a}, ${b}) > 0)`;
    case 'sw':
      return condition`starts_with(${a}, ${b})`;
    case 'ew':
      return condition`(right(${a}, length(${b})) = ${b})`;
    default:
      return condition`(${a} collate "C" ${ORDER[op]} ${b})`;
  }
};

const compareBoolean = (
  left: RawBuilder<unknown>,
  name: string,
  { op, compValue }: Comparison,
): Condition => {
  const wanted = String(compValue).toLowerCase();
  if ((op !== 'eq' && op !== 'ne') || !['true', 'false'].includes(wanted))
    throw new ScimProblem('invalidFilter', `${name} can only be compared with true and false, by eq and ne.`);
  const isWanted = condition`(coalesce(${left}::text, 'false') = ${wanted})`;
  return op === 'eq' ? isWanted : condition`(not ${isWanted})`;
};

const compareTime = (left: RawBuilder<unknown>, name: string, { op, compValue }: Comparison): Condition => {
  const time = readInstant(String(compValue));
  if (!time || op === 'co' || op === 'sw' || op === 'ew')
    throw new ScimProblem(
      'invalidFilter',
      `${name} can only be compared with a time such as 2026-01-31T12:00:00Z.`,
    );
  if (op === 'eq' || op === 'ne')
    return condition`(${left} ${op === 'eq' ? sql`=` : sql`<>`} ${time}::timestamptz)`;
  return condition`(${left} ${ORDER[op]} ${time}::timestamptz)`;
};

/** SQL of the attribute by which a list is sorted. @throws ScimProblem `invalidValue` */
export const sortExpression = (columns: Columns, path: string): RawBuilder<unknown> => {
  const found = findAttribute(columns.type, path);
  if (!found || found.attribute.returned === 'never')
    throw new ScimProblem('invalidValue', `sortBy: there is no attribute ${path}.`);
  const { schema, attribute, sub } = found;
  const name = [attribute.name, sub?.name].filter(Boolean).join('.').toLowerCase();
  const own = schema === null ? columns.columns[name] : undefined;
  if (own) return attribute.type === 'string' && !attribute.caseExact ? sql`lower(${own}::text)` : own;
  const element = attribute.multiValued ? ['0'] : [];
  const inner = sub?.name ?? (attribute.subAttributes ? 'value' : null);
  const steps = [
    ...(schema === null ? [] : [schema]),
    attribute.name,
    ...element,
    ...(inner === null ? [] : [inner]),
  ];
  return sql`lower(${textAt(columns.document, steps)})`;
};
