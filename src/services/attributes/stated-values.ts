import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { isReadableJson } from '../../lib/json-value.ts';
import { invalid } from '../../lib/problems.ts';
import { type Fault, schemaOf } from './attribute-schema.ts';
import type { Values } from './effective-values.ts';

/**
 * Checks data permissions that someone states for a group or a grant: each key must be declared by the client or by one of its apps, and
 * each value valid for all that declare it. Required attributes may be missing: another layer may have them.
 * @param appId the only app that gets the values; null: all apps of the client
 * @throws Problem `invalid-input` on `attributes`
 */
export const requireValidValues = async (
  tx: Em,
  { clientId, appId }: { clientId: number; appId: string | null },
  values: Values | null | undefined,
): Promise<void> => {
  const keys = Object.keys(values ?? {});
  if (!values || keys.length === 0) return;
  const { rows } = await sql<{ schema: string }>`
    select attributes::text as schema from clients where id = ${clientId} and attributes is not null
    union all select attributes::text from apps
      where client_id = ${clientId} and attributes is not null and id = coalesce(${appId}::varchar, id)`.execute(
    kysely(tx),
  );
  const schemas = rows.map(({ schema }) => schemaOf(schema)).filter((schema) => schema !== null);
  const isDeclared = (key: string) => schemas.some(({ properties }) => Object.hasOwn(properties, key));
  const faults: Fault[] = [
    ...keys.filter((key) => !isDeclared(key)).map((key) => ({ key, message: 'is not an attribute here' })),
    ...schemas.flatMap(({ check }) => check(values)).filter(({ key }) => keys.includes(key)),
  ];
  if (!isReadableJson(values)) throw invalid({ attributes: ['Must not have a NUL or half a character.'] });
  const messages = [...new Set(faults.map(({ key, message }) => `${key} ${message}.`))];
  if (messages.length > 0) throw invalid({ attributes: messages });
};

/**
 * Checks roles in an app: the app must declare each.
 * @throws Problem `invalid-input` on `app_roles`
 */
export const requireAppRoles = async (tx: Em, appId: string, keys: readonly string[]): Promise<void> => {
  if (keys.length === 0) return;
  const { app_roles: roles } = await kysely(tx)
    .selectFrom('apps')
    .select('app_roles')
    .where('id', '=', appId)
    .executeTakeFirstOrThrow();
  const unknown = keys.filter((key) => !roles.some((role) => role.key === key));
  if (unknown.length > 0)
    throw invalid({ app_roles: unknown.map((key) => `The app ${appId} has no role ${key}.`) });
};
