import { sql } from 'kysely';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import type { Actor } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { isPerson, userVisibleTo } from '../access/visibility.ts';
import { describeFaults } from '../attributes/effective-values.ts';
import { dataPermissionsOf, type GivenRow, givenVisibleTo, masked } from '../attributes/given-values.ts';
import { decideAccess, hasAccessToOne, type Opening, openingsByUser } from '../gate/app-access.ts';

/** What an app gets about a person, and whether it opens. `detail`: what is wrong with the data permissions; empty if nothing is. */
type State = { allowed: boolean; data_permissions: Record<string, unknown> | null; detail: string };

type PersonChange = { email: string; app_id: string; before: State; after: State };

/** `people`: the first of those whom the change touches; people who would lose access come first. */
export type SchemaChanges = {
  touched: number;
  losing: number;
  gaining: number;
  people: PersonChange[];
};

/** `keys`: all that the client and its apps will declare. `change`: what changes for a person. `emails`: of whom; by default of all. */
export type NewData = {
  clientId: number;
  appIds: readonly string[];
  keys: readonly string[];
  change: (row: Opening) => Partial<GivenRow>;
  emails?: readonly string[];
};

const MAX_LISTED = 200;
const PART = 1_000;
const ALWAYS = condition`true`;

/** Decides for each person who has one of the apps what new schemas or values would change. Changes nothing. */
export const previewChanges = async (
  em: Em,
  actor: Actor,
  now: Date,
  { appIds, change, ...data }: NewData,
): Promise<SchemaChanges> => {
  const [losing, others]: [PersonChange[], PersonChange[]] = [[], []];
  const isShown = can(actor, 'manage-people', data.clientId);
  const counts = { touched: 0, losing: 0, gaining: 0 };
  for (const appId of appIds)
    for await (const row of openingsOf(em, actor, now, { ...data, appId })) {
      const before = stateOf(row, now, isShown);
      const after = stateOf({ ...row, declared_keys: [...data.keys], ...change(row) }, now, isShown);
      if (canonicalJson(before) === canonicalJson(after)) continue;
      counts.touched += 1;
      if (before.allowed && !after.allowed) counts.losing += 1;
      if (!before.allowed && after.allowed) counts.gaining += 1;
      const list = before.allowed && !after.allowed ? losing : others;
      if (list.length < MAX_LISTED && row.email !== null)
        list.push({ email: row.email, app_id: appId, before, after });
    }
  return { ...counts, people: [...losing, ...others].slice(0, MAX_LISTED) };
};

const stateOf = (opening: Opening, now: Date, isShown: boolean): State => {
  const { values, outcome } = dataPermissionsOf(opening);
  return {
    allowed: decideAccess(opening, now) === 'allowed',
    data_permissions: isShown ? values : masked(opening, values),
    detail: describeFaults(outcome?.faults ?? []),
  };
};

type AppOfClient = Pick<NewData, 'clientId' | 'emails'> & { appId: string };

/** The openings of an app by active people who have it. Their ids are read at once, their values in parts: a client may have 100,000. */
async function* openingsOf(em: Em, actor: Actor, now: Date, { clientId, appId, emails }: AppOfClient) {
  const people = await openingsByUser(em, now)
    .clearSelect()
    .select('users.id')
    .where('apps.id', '=', appId)
    .where('users.is_active', '=', true)
    .where(hasAccessToOne(now, { appId, clientId }))
    .where(userVisibleTo(actor))
    .where(givenVisibleTo(actor))
    .where(emails ? isAnyOf('users.email', emails, 'varchar') : ALWAYS)
    .where(isPerson)
    .execute();
  const ids = people.map(({ id }) => id);
  for (let start = 0; start < ids.length; start += PART)
    yield* await openingsByUser(em, now, ALWAYS)
      .where('apps.id', '=', appId)
      .where(isAnyOf('users.id', ids.slice(start, start + PART), 'int'))
      .orderBy('users.id')
      .execute();
}

/** The schemas of a client and its apps, as text. */
export const readSchemas = async (em: Em, clientId: number) => {
  const client = await kysely(em)
    .selectFrom('clients')
    .select([sql<string | null>`attributes::text`.as('schema'), 'attributes_mode as mode'])
    .where('id', '=', clientId)
    .executeTakeFirstOrThrow();
  const apps = await kysely(em)
    .selectFrom('apps')
    .select(['id', 'slug', 'label', 'app_roles as roles', sql<string | null>`attributes::text`.as('schema')])
    .where('client_id', '=', clientId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return { client, apps };
};
