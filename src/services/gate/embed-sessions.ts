import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { newSessionSecret } from '../../lib/ids.ts';
import { tokenDigest } from '../auth/credentials.ts';
import { deleteInBatches } from '../pruning.ts';

const MAX_HOURS = 12;

/** A session of a browser that used an access view. The secret is the value of its cookie; only its digest is stored. */
export type EmbedSession = { secret: string; maxAgeSeconds: number };

/**
 * Creates the session of a use. It ends after 12 hours, and no later than the view, by the clock of the database.
 * @param viewExpiresAt null if the view does not expire, or only has to be opened before it expires
 */
export const createEmbedSession = async (
  tx: Db,
  useId: number,
  viewExpiresAt: Date | null,
): Promise<EmbedSession> => {
  const secret = newSessionSecret();
  const { maxAgeSeconds } = await tables(tx)
    .insertInto('embed_sessions')
    .values({
      digest: tokenDigest(secret),
      access_view_use_id: useId,
      expires_at: sql<Date>`least(clock_timestamp() + ${MAX_HOURS}::int * interval '1 hour', ${viewExpiresAt}::timestamptz)`,
    })
    .returning(sql<number>`ceil(extract(epoch from expires_at - clock_timestamp()))::int`.as('maxAgeSeconds'))
    .executeTakeFirstOrThrow();
  return { secret, maxAgeSeconds };
};

/**
 * Deletes ended sessions, and views that were made to be opened once, with their uses. Those are kept until the sessions that
 * they began have ended.
 */
export const pruneEmbeds = async (em: Db): Promise<void> => {
  await deleteInBatches(em, 'embed_sessions', sql`expires_at < now()`);
  const lifetime = sql`${MAX_HOURS}::int * interval '1 hour'`;
  await deleteInBatches(em, 'access_views', sql`is_one_time and expires_at < now() - ${lifetime}`);
};
