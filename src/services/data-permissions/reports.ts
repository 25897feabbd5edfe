import type { NotNull } from 'kysely';
import type { Em } from '../../db/kysely.ts';
import { cursorRow, type PageRequest, readPage } from '../../db/pagination.ts';
import { notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { isPerson, userVisibleTo } from '../access/visibility.ts';
import { requireViewableApp } from '../apps/app-rows.ts';
import { schemaOf } from '../attributes/attribute-schema.ts';
import { describeFaults, type Effective, fixOf } from '../attributes/effective-values.ts';
import {
  dataPermissionsOf,
  givenVisibleTo,
  isSensitiveIn,
  MASK,
  masked,
} from '../attributes/given-values.ts';
import { decideAccess, hasAccessToOne, type Opening, openingsByUser } from '../gate/app-access.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** Who sees which data, and why. */
export const createDataPermissions = ({ em, clock }: UnitOfWork) => ({
  /**
   * What an app gets about a person: each attribute with its sources and the values that do not count.
   * @throws Problem `not-found`
   */
  ofPerson: async (actor: Actor, email: string, appId: string) => {
    const now = clock.now();
    const { client_id: client } = await requireViewableApp(em, actor, now, appId);
    const opening = await openingsByUser(em, now)
      .where('users.email', '=', email)
      .where('apps.id', '=', appId)
      .where(userVisibleTo(actor))
      .where(givenVisibleTo(actor))
      .executeTakeFirstOrThrow(() => notFound('user'));
    const { values, outcome } = dataPermissionsOf(opening);
    const isShown = can(actor, 'manage-people', client);
    const schemas = [schemaOf(opening.app_schema), schemaOf(opening.client_schema)];
    const titleOf = (key: string) =>
      schemas.find((schema) => schema?.properties[key])?.properties[key]?.title ?? '';
    const shown = ({ key, ...attribute }: Effective) =>
      isShown || !isSensitiveIn(opening, key)
        ? { key, title: titleOf(key), ...attribute }
        : { key, title: titleOf(key), value: MASK, sources: attribute.sources, overrides: [] };
    return {
      allowed: decideAccess(opening, now) === 'allowed',
      mode: opening.attributes_mode,
      has_schema: outcome !== null,
      data_permissions: isShown ? values : masked(opening, values),
      attributes: outcome?.attributes.map(shown) ?? [],
      faults: outcome?.faults ?? [],
      fix: outcome ? fixOf(outcome) : '',
      app_roles: opening.app_roles,
    };
  },

  /**
   * The active people who have an app, by email address, with what it gets about each.
   * @throws Problem `not-found`, `forbidden` if the actor may only open the app, `invalid-input` on `cursor`
   */
  ofApp: async (actor: Actor, appId: string, page: PageRequest & { cursor?: string | undefined }) => {
    const now = clock.now();
    const { client_id: clientId } = await requireViewableApp(em, actor, now, appId);
    const people = openingsOf(em, actor, now, { appId, clientId });
    const after = async (email: string) => {
      const last = await cursorRow(people.where('users.email', '=', email));
      return people.where('users.email', '>', last.email);
    };
    const isShown = can(actor, 'manage-people', clientId);
    const toRow = (row: Row) => reportRow(row, now, isShown);
    if (page.page) return (await readPage(people, 'users.email', page)).map(toRow);
    const reported = [];
    // In parts, because each row has the schemas.
    let rest = page.cursor === undefined ? people : await after(page.cursor);
    for (let left = page.limit ?? MAX_ROWS; left > 0; left -= PART) {
      const rows = await rest.limit(Math.min(left, PART)).execute();
      reported.push(...rows.map(toRow));
      const last = rows.at(-1);
      if (!last || rows.length < PART) break;
      rest = people.where('users.email', '>', last.email);
    }
    return reported;
  },
});

const PART = 500;
const MAX_ROWS = 10_000;

type AppOfClient = { appId: string; clientId: number };

const openingsOf = (em: Em, actor: Actor, now: Date, app: AppOfClient) =>
  openingsByUser(em, now)
    .select(['users.first_name', 'users.last_name'])
    .$narrowType<{ email: NotNull; first_name: NotNull; last_name: NotNull }>()
    .where('apps.id', '=', app.appId)
    .where('users.is_active', '=', true)
    .where(hasAccessToOne(now, app))
    .where(userVisibleTo(actor))
    .where(givenVisibleTo(actor))
    .where(isPerson)
    .orderBy('users.email');

type Named = { email: string; first_name: string; last_name: string };

type Row = Opening & Named;

const reportRow = (row: Row, now: Date, isShown: boolean) => {
  const { email, first_name, last_name, app_roles } = row;
  const { values, outcome } = dataPermissionsOf(row);
  const shown = isShown ? values : masked(row, values);
  return {
    ...{ email, first_name, last_name, app_roles },
    allowed: decideAccess(row, now) === 'allowed',
    sees: describeValues(shown),
    faults: describeFaults(outcome?.faults ?? []),
    data_permissions: shown,
  };
};

/** `region: North, South; team: any`. */
const describeValues = (values: Record<string, unknown> | null): string =>
  Object.entries(values ?? {})
    .map(([key, value]) => `${key}: ${[value].flat().map(textOf).join(', ')}`)
    .join('; ');

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
