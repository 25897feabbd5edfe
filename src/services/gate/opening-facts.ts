import { sql } from 'kysely';
import type { Read } from '../../db/batched-reads.ts';
import { type Db, tables } from '../../db/kysely.ts';
import { createBatchLoader } from '../../lib/batch-loader.ts';
import { isSlug } from '../../lib/package-name.ts';
import { openableAppsOfUsers } from './app-access.ts';
import type { TicketFacts } from './ticket-facts.ts';

/** Facts of a user and an app, and when tickets for them were last revoked, in milliseconds; 0 means never. */
export type OpeningFacts = TicketFacts & { revoked_ms: number };

/** Of apps that users may open; every request to an app asks, so those of one event-loop tick share a statement. */
export const createOpeningLookup = (em: Db, read: Read) => {
  const load = async (keys: readonly string[]) => {
    const parts = keys.map((key) => key.split(' '));
    const userIds = parts.map(([id]) => Number(id));
    const slugs = parts.map(([, slug = '']) => slug);
    const rows = await read(openings(em, userIds, slugs));
    return new Map(rows.map((row) => [`${row.user_id} ${row.app_slug}`, row]));
  };
  const loader = createBatchLoader(load);
  return async (userId: number, slug: string): Promise<OpeningFacts | null> => {
    // A slug that PostgreSQL cannot read would fail all requests of the batch.
    if (!isSlug(slug)) return null;
    const row = await loader(`${userId} ${slug}`);
    if (!row) return null;
    const { issued_ms, revoked_ms } = row;
    return { app: row, user: row, view: null, issued_ms, revoked_ms };
  };
};

/** SQL: the last revocation of tickets of a row of `users` for a row of `apps`. */
const lastRevocation = sql<number>`coalesce((
  select floor(extract(epoch from max(r.revoked_at)) * 1000)::float8 from ticket_revocations r
  where r.user_id = users.id or r.app_id = apps.id
    or num_nonnulls(r.user_id, r.app_id, r.access_view_id) = 0), 0)`;

const openings = (em: Db, userIds: number[], slugs: string[]) =>
  openableAppsOfUsers(tables(em))
    .select(sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::float8`.as('issued_ms'))
    .select(lastRevocation.as('revoked_ms'))
    .where(
      sql<boolean>`(users.id, apps.slug) in (select * from unnest(${userIds}::int[], ${slugs}::varchar[]))`,
    );
