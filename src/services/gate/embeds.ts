import { sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { newSecret } from '../../lib/ids.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireClientAdmin } from '../access/actor.ts';
import { appRows } from '../apps/app-rows.ts';
import { tokenDigest } from '../auth/credentials.ts';
import { deleteInBatches } from '../pruning.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { findSubject, insertView, SUBJECT_FAULTS } from './access-view-changes.ts';
import { isInNetwork, openingsByView } from './app-access.ts';

const ONE_TIME_SECONDS = 60;

/** Access views for one use at once, which platforms make for each page that embeds an app. */
export const createOneTimeViews = ({ em, clock, audit }: UnitOfWork) => ({
  /**
   * The key of a view that opens the app once as the user, within a minute.
   * Callers use GET, so a link on another site could make a logged-in browser call it: only API tokens are accepted.
   * @param appKey the id or the slug of an app
   * @throws Problem `not-found`, `forbidden`
   */
  create: (actor: Actor, appKey: string, email: string): Promise<string> =>
    em.transactional(async (tx) => {
      if (actor.credential?.kind === 'session')
        throw new Problem('forbidden', { detail: 'This needs an API token, not a browser session.' });
      const app = await appRows(tx, actor)
        .where((apps) => apps.or([apps('apps.id', '=', appKey), apps('apps.slug', '=', appKey)]))
        .clearOrderBy()
        .orderBy(sql`apps.id = ${appKey}`, 'desc')
        .executeTakeFirstOrThrow(() => notFound('app'));
      requireClientAdmin(actor, app.client_id);
      const subject = await findSubject(tx, actor, { appId: app.id, email, now: clock.now() });
      if ('fault' in subject) {
        if (subject.fault === 'unknown') throw notFound('user');
        throw new Problem('forbidden', { detail: SUBJECT_FAULTS[subject.fault] });
      }
      const { id, key } = await insertView(
        tx,
        {
          app_id: app.id,
          user_id: subject.id,
          is_one_time: true,
          by_superuser: subject.isPrivileged,
          expires_at: sql`clock_timestamp() + ${ONE_TIME_SECONDS}::int * interval '1 second'`,
        },
        clock.now(),
      );
      const details = { access_view: id, user: email, is_one_time: true };
      const event = { actor, target: app.slug, clients: [app.client_id], details };
      await audit.record(tx, [{ action: 'access-view.create', ...event }]);
      return key;
    }),
});

const MAX_HOURS = 12;

/** A session of a browser that used an access view. The secret is the value of its cookie; only its digest is stored. */
export type EmbedSession = { secret: string; maxAgeSeconds: number };

/**
 * Creates the session of a use. It ends after 12 hours, and no later than the view, by the clock of the database.
 * @param viewExpiresAt null if the view does not expire, or only has to be opened before it expires
 */
export const createEmbedSession = async (
  tx: Em,
  useId: number,
  viewExpiresAt: Date | null,
): Promise<EmbedSession> => {
  const secret = newSecret();
  const { maxAgeSeconds } = await kysely(tx)
    .insertInto('embed_sessions')
    .values({
      digest: tokenDigest(secret),
      access_view_use_id: useId,
      expires_at: sql`least(clock_timestamp() + ${MAX_HOURS}::int * interval '1 hour', ${viewExpiresAt}::timestamptz)`,
    })
    .returning(sql<number>`ceil(extract(epoch from expires_at - clock_timestamp()))::int`.as('maxAgeSeconds'))
    .executeTakeFirstOrThrow();
  return { secret, maxAgeSeconds };
};

/**
 * Deletes ended sessions, and views that were made to be opened once, with their uses. Those are kept until the sessions that
 * they began have ended.
 */
export const pruneEmbeds = async (em: Em): Promise<void> => {
  await deleteInBatches(em, 'embed_sessions', sql`expires_at < now()`);
  const lifetime = sql`${MAX_HOURS}::int * interval '1 hour'`;
  await deleteInBatches(em, 'access_views', sql`is_one_time and expires_at < now() - ${lifetime}`);
};

/** What the session of a browser opens in this app, unless it has ended, or its view opens the app as another user now. */
export const openingsOfSession = (
  em: Em,
  { secret, now, slug, address }: { secret: string; now: Date; slug: string; address: string | null },
) =>
  openingsByView(em, condition`true`, condition`true`)
    .innerJoin('embed_sessions as session', 'session.access_view_use_id', 'used.id')
    .select(['session.access_view_use_id as use_id', isInNetwork(address).as('is_in_network')])
    .where('session.digest', '=', tokenDigest(secret))
    .where('session.expires_at', '>', now)
    .where('apps.slug', '=', slug)
    .where(condition`used.user_id is not distinct from access_views.user_id`);
