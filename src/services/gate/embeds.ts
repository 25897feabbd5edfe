import { sql } from 'kysely';
import { before, deleteInBatches } from '../../db/deletion.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { HOUR_MS, MINUTE_MS } from '../../lib/clock.ts';
import { newSecret } from '../../lib/ids.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { OPENS_APPS } from '../access/action-scopes.ts';
import { type Actor, requireIn } from '../access/actor.ts';
import { requireScope } from '../access/scope.ts';
import { appRows } from '../apps/app-rows.ts';
import { ofApp } from '../audit/audit.ts';
import { tokenDigest } from '../auth/credentials.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { findSubject, insertView, SUBJECT_FAULTS } from './access-view-changes.ts';
import { isInNetwork, openingsByView } from './app-access.ts';

const ONE_TIME_MS = MINUTE_MS;

/** One-time views, which platforms create for each page that embeds an app. */
export const createOneTimeViews = ({ em, clock, audit }: UnitOfWork) => ({
  /**
   * Creates a view that opens the app once as the user, within a minute, and returns its key. Callers use GET, so a link on another site
   * could make a logged-in browser call it: only API tokens are accepted.
   * @param appKey the id or the slug of an app
   * @throws Problem `not-found`, `forbidden`, `insufficient-scope`
   */
  create: (actor: Actor, appKey: string, email: string): Promise<string> =>
    em.transactional(async (tx) => {
      requireScope(actor.scope, OPENS_APPS);
      if (actor.credential?.kind === 'session')
        throw new Problem('forbidden', { detail: 'This needs an API token, not a browser session.' });
      const app = await appRows(tx, actor, clock.now())
        .where((apps) => apps.or([apps('apps.id', '=', appKey), apps('apps.slug', '=', appKey)]))
        .clearOrderBy()
        .orderBy(sql`apps.id = ${appKey}`, 'desc')
        .executeTakeFirstOrThrow(() => notFound('app'));
      requireIn(actor, 'manage-apps', app.client_id);
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
          expires_at: new Date(clock.now().getTime() + ONE_TIME_MS),
        },
        clock.now(),
      );
      const details = { access_view: id, user: subject.id, is_one_time: true };
      const event = { actor, target: ofApp(app), clients: [app.client_id], details };
      await audit.record(tx, [{ action: 'access-view.create', ...event }]);
      return key;
    }),
});

const MAX_MS = 12 * HOUR_MS;

/** A session of a browser that used an access view. The secret is the value of its cookie; only its digest is stored. */
export type EmbedSession = { secret: string; maxAgeSeconds: number };

/**
 * Creates the session of a use. It ends after 12 hours, or when the view ends if that is earlier.
 * @param viewExpiresAt null if the view does not expire, or its expiry only limits when it can be opened
 */
export const createEmbedSession = async (
  tx: Em,
  { useId, viewExpiresAt, now }: { useId: number; viewExpiresAt: Date | null; now: Date },
): Promise<EmbedSession> => {
  const secret = newSecret();
  const lifetimeMs = Math.min(MAX_MS, (viewExpiresAt?.getTime() ?? Infinity) - now.getTime());
  await kysely(tx)
    .insertInto('embed_sessions')
    .values({
      digest: tokenDigest(secret),
      access_view_use_id: useId,
      expires_at: new Date(now.getTime() + lifetimeMs),
    })
    .execute();
  return { secret, maxAgeSeconds: Math.ceil(lifetimeMs / 1000) };
};

/** Deletes ended sessions, and one-time views with their uses. These views are kept until the sessions of their uses have ended. */
export const pruneEmbeds = async (em: Em, now: Date): Promise<void> => {
  await deleteInBatches(em, 'embed_sessions', sql`expires_at < ${now}::timestamptz`);
  await deleteInBatches(em, 'access_views', sql`is_one_time and expires_at < ${before(now, MAX_MS)}`);
};

/** The opening of the browser's session in this app, unless it has ended, or its view now opens the app as another user. */
export const openingsOfSession = (
  em: Em,
  { secret, now, slug, address }: { secret: string; now: Date; slug: string; address: string | null },
) =>
  openingsByView(em, now, condition`true`, condition`true`)
    .innerJoin('embed_sessions as session', 'session.access_view_use_id', 'used.id')
    .select(['session.access_view_use_id as use_id', isInNetwork(address).as('is_in_network')])
    .where('session.digest', '=', tokenDigest(secret))
    .where('session.expires_at', '>', now)
    .where('apps.slug', '=', slug)
    .where(condition`used.user_id is not distinct from access_views.user_id`);
