import { sql } from 'kysely';
import { notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireClientAdmin } from '../access/actor.ts';
import { appRows } from '../apps/app-rows.ts';
import type { Unit } from '../unit.ts';
import { insertView } from './access-view-changes.ts';
import { findSubject, SUBJECT_FAULTS } from './access-view-subject.ts';

const ONE_TIME_SECONDS = 60;

/** Access views for one use at once, which platforms make for each page that embeds an app. */
export const createOneTimeViews = ({ em, clock, audit }: Unit) => ({
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
      const subject = await findSubject(tx, actor, app.id, email);
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
          expires_at: sql<Date>`clock_timestamp() + ${ONE_TIME_SECONDS}::int * interval '1 second'`,
        },
        clock.now(),
      );
      const details = { access_view: id, user: email, is_one_time: true };
      const event = { actor, target: app.slug, clients: [app.client_id], details };
      await audit.record(tx, [{ action: 'access-view.create', ...event }]);
      return key;
    }),
});
