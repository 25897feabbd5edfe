import { sql } from 'kysely';
import { ATTRIBUTE_MODES, type AttributeMode } from '../../../entities/client.ts';
import { type Condition, condition } from '../../db/kysely.ts';
import { canViewAll } from '../access/actor.ts';
import { GROUP_ACCESS, liveGrants, type Viewer } from '../access/visibility.ts';
import { schemaOf } from './attribute-schema.ts';
import { effectiveValues, type Given, type Outcome, type Values } from './effective-values.ts';

export { ATTRIBUTE_MODES };

/** SQL: whether data permissions of the app have a schema. Apps without one cost nothing. */
const HAS_SCHEMA: Condition = condition`(apps.attributes is not null or clients.attributes is not null)`;

/**
 * SQL: what gives a user data permissions and roles in an app. Selects from `apps`, joined with `clients`, `users`, `memberships` and
 * `access_views`.
 * @param isWanted reads the values also if there is no schema yet
 */
export const givenColumns = (now: Date, isWanted = HAS_SCHEMA) =>
  [
    sql<string | null>`apps.attributes::text`.as('app_schema'),
    sql<string | null>`clients.attributes::text`.as('client_schema'),
    sql<AttributeMode>`clients.attributes_mode`.as('attributes_mode'),
    sql<Values | null>`memberships.claims`.as('claims'),
    sql<Given['groups'] | null>`case when ${isWanted} then ${GROUP_VALUES} end`.as('group_values'),
    sql<Values | null>`case when ${isWanted} then ${grantValues(now)} end`.as('grant_values'),
    sql<string[]>`case when ${isWanted} then clients.attribute_keys else '{}' end`.as('declared_keys'),
    appRoles(now).as('app_roles'),
  ] as const;

/** The order is that in which single values count. */
const GROUP_VALUES = sql`(
  select json_agg(json_build_object('name', gr.name, 'values', gr.attributes) order by gr.rank, gr.id)
  from group_members gm join groups gr on gr.id = gm.group_id
  where gm.user_id = users.id and gr.client_id = apps.client_id and gr.attributes is not null)`;

const grantValues = (now: Date) => sql`(
  select g.attributes from ${liveGrants(now)} g where g.user_id = users.id and g.app_id = apps.id)`;

/** SQL: a table of the roles that grants and groups give users in apps, as far as the apps declare them. May contain duplicates. */
export const givenAppRoles = (now: Date) => sql<{ user_id: number; app_id: string; role: string }>`(
  select given.user_id, given.app_id, role from (
    select user_id, app_id, app_roles from ${liveGrants(now)} g
    union all select b.user_id, b.app_id, ga.app_roles
      from ${GROUP_ACCESS} b join group_apps ga on ga.group_id = b.group_id and ga.app_id = b.app_id) given
    join apps declaring on declaring.id = given.app_id
    cross join unnest(given.app_roles) role
  where role in (select declared ->> 'key' from json_array_elements(declaring.app_roles) declared))`;

/** SQL: the roles of a row of `users` in a row of `apps`, in alphabetical order. Apps without roles cost nothing. */
export const appRoles = (now: Date) => sql<string[]>`case when apps.app_roles::text <> '[]' then array(
  select distinct role from ${givenAppRoles(now)} r where r.user_id = users.id and r.app_id = apps.id order by role) else '{}' end`;

/**
 * SQL: rows whose data permissions the viewer may see. Those of people who do not belong to the client are values of their account, which not
 * everyone who sees the client may know.
 */
export const givenVisibleTo = (viewer: Viewer): Condition =>
  canViewAll(viewer) ? condition`true` : condition`memberships.user_id is not null`;

/** A row with these columns. */
export type GivenRow = {
  app_schema: string | null;
  client_schema: string | null;
  attributes_mode: AttributeMode;
  group_values: Given['groups'] | null;
  claims: Values | null;
  grant_values: Values | null;
  /** By the client or a package of one of its apps. Other keys are mistyped. */
  declared_keys: string[];
  /** Of the membership, or of the account of a person who does not belong to the client. */
  extra: Record<string, unknown> | null;
  /** Of the access view. */
  data_permissions: Record<string, unknown> | null;
};

/** What an app gets about the person who opens it, and why it stays closed. */
export type DataPermissions = {
  /** Null if empty. */
  values: Record<string, unknown> | null;
  /** The values by the schema; null without a schema. */
  outcome: Outcome | null;
  /** Whether the faults of the outcome keep the app closed. */
  isRefused: boolean;
};

export const dataPermissionsOf = (row: GivenRow): DataPermissions => {
  const view = orNull(row.data_permissions);
  const asGiven = view ?? orNull(row.extra);
  if (row.app_schema === null && row.client_schema === null)
    return { values: asGiven, outcome: null, isRefused: false };
  const schemas = { app: schemaOf(row.app_schema), client: schemaOf(row.client_schema) };
  const { extra: membership, claims, grant_values: grant, group_values: groups } = row;
  const outcome = effectiveValues(
    schemas,
    { groups: groups ?? [], claims, membership, grant, view },
    row.declared_keys,
  );
  const isEnforced = row.attributes_mode === 'enforce';
  return {
    values: isEnforced ? orNull(outcome.values) : asGiven,
    outcome,
    isRefused: isEnforced && outcome.faults.length > 0,
  };
};

export const MASK = '•••';

/** Whether a schema says that only people who manage people see the values of this attribute. */
export const isSensitiveIn = (row: GivenRow, key: string): boolean =>
  [row.app_schema, row.client_schema].some(
    (text) => schemaOf(text)?.properties[key]?.['x-steward']?.sensitive === true,
  );

/** The values with masks for sensitive ones. */
export const masked = (row: GivenRow, values: Record<string, unknown> | null) =>
  values &&
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, isSensitiveIn(row, key) ? MASK : value]),
  );

/** An empty object gives no permissions. */
const orNull = (permissions: Record<string, unknown> | null) =>
  permissions && Object.keys(permissions).length > 0 ? permissions : null;
