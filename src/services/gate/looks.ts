import { sql } from 'kysely';
import { before, deleteInBatches } from '../../db/deletion.ts';
import { type Condition, condition, type Em, kysely } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { DAY_MS, MINUTE_MS } from '../../lib/clock.ts';
import { isServiceAddress } from '../../lib/email-address.ts';
import { newSecret } from '../../lib/ids.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { leadsToApi } from '../../lib/urls.ts';
import { type Actor, proofOf, requireConfirmedSession } from '../access/actor.ts';
import { isInScope } from '../access/scope.ts';
import { isAllowedIn } from '../access/visibility.ts';
import { endOpenidLogins } from '../accounts/access-ends.ts';
import { readTarget } from '../accounts/user-locks.ts';
import { fullName } from '../accounts/user-rows.ts';
import { appRow } from '../apps/app-rows.ts';
import { type Audit, ofUser, type Transaction } from '../audit/audit.ts';
import { tokenDigest } from '../auth/credentials.ts';
import { NEW_MAIL, newMailValues } from '../outbox/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { decideAccess, openingsByUser, requireFactor } from './app-access.ts';
import { appUrlOf, createLaunchCode, usesOpenid, withLaunchCode } from './launches.ts';
import { hasCookie, lookRefusal, readBoth, readLook } from './look-access.ts';
import { createTickets } from './tickets.ts';

type NewLook = { email: string; appId: string; reason: string; minutes: number };
type Launch = { stackSlug?: string | undefined; state?: string | undefined };

/** Looks at apps as another person, read-only and for minutes. Each request to the app decides again: see `readLook`. */
export const createLooks = (unit: UnitOfWork) => {
  const { em, clock, audit, baseUrl, appUrl } = unit;
  const tickets = createTickets(unit);

  /** The URL of the app, with a code. @throws Problem `not-found`, `app-in-maintenance`, `second-factor-required` */
  const urlOf = async (
    tx: Em,
    look: { id: number; actor_id: number; app_id: string },
    { stackSlug, state }: Launch,
  ) => {
    const id = { lookId: look.id, actorId: look.actor_id, appId: look.app_id };
    const subject = { kind: 'look', ...id, stackSlug } as const;
    const opening = await tickets.requireOpening(subject);
    const url = appUrlOf(opening, appUrl);
    if (await usesOpenid(tx, look.app_id)) return url;
    return withLaunchCode(url, () => createLaunchCode(tx, subject, clock.now()), state);
  };

  return {
    /**
     * Begins a look, and ends the one of this session at the same app. Only this session can open the URL, once.
     * @throws Problem `not-found`, `forbidden`, `reauthentication-required`, `view-as-unsupported`, `app-in-maintenance`,
     * `second-factor-required`
     */
    begin: (actor: Actor, { email, appId, reason, minutes }: NewLook) =>
      em.transactional(async (tx) => {
        const now = clock.now();
        const { credential } = actor;
        if (credential?.kind !== 'session')
          throw new Problem('forbidden', { detail: 'This needs a browser session, not an API token.' });
        requireConfirmedSession(actor, now);
        const app = await appRow(tx, actor, now, appId);
        const { id: userId, email: address } = await readTarget(tx, actor, email);
        if (isServiceAddress(address)) throw notFound('user');
        // Against an erasure. Shared, so that two admins can look as each other at the same time.
        await kysely(tx).selectFrom('users').select('id').where('id', '=', userId).forShare().execute();
        const ids = { actor_id: actor.id, user_id: userId, app_id: app.id };
        const { person, opening, own } = await readBoth(tx, now, ids);
        const refusal = lookRefusal(actor, person, opening);
        if (refusal) throw refusal;
        if (leadsToApi(appUrlOf(opening, appUrl)))
          throw new Problem('view-as-unsupported', { detail: 'This app has no address yet.' });
        const access = decideAccess(opening, now);
        if (access === 'in-maintenance') throw new Problem('app-in-maintenance');
        if (access !== 'allowed')
          throw new Problem('forbidden', { detail: 'This person may not open the app now.' });
        requireFactor(own, { proof: proofOf(actor), isToken: false }, now);

        const isSame = condition`session_id = ${credential.id} and app_id = ${app.id}`;
        await endLooks({ tx, now, audit }, actor, isSame);
        const secret = newSecret();
        const times = { begun_at: now, ends_at: new Date(now.getTime() + minutes * MINUTE_MS) };
        const { id } = await kysely(tx)
          .insertInto('view_as')
          .values({
            ...ids,
            ...times,
            reason,
            client_id: app.client_id,
            session_id: credential.id,
            link_digest: tokenDigest(secret),
          })
          .returning('id')
          .executeTakeFirstOrThrow();
        await enqueueMail(tx, id, now);
        const about = { actor, target: ofUser(person), clients: [app.client_id] };
        const details = { id, app: app.id, viewer: actor.id, reason, minutes };
        await audit.record(tx, [{ action: 'user.view-as-begin', ...about, details }]);
        return { url: `${baseUrl}/view-as/${id}/open/${secret}/`, id, ends_at: times.ends_at };
      }),

    /**
     * Opens the URL of a look in the session that began it. Returns where the browser goes, and the secret of its cookie.
     * @throws Problem `invalid-link`, and the problems of `urlOf`
     */
    open: (actor: Actor, id: number, link: string) =>
      em.transactional(async (tx) => {
        const secret = newSecret();
        const look = await kysely(tx)
          .updateTable('view_as')
          .set({ cookie_digest: tokenDigest(secret) })
          .from('apps')
          .whereRef('apps.id', '=', 'view_as.app_id')
          .where('view_as.id', '=', id)
          .where('link_digest', '=', tokenDigest(link))
          .where('session_id', '=', sessionIdOf(actor))
          .where('cookie_digest', 'is', null)
          .where(isRunning(clock.now()))
          .returning(['view_as.id', 'actor_id', 'app_id', 'apps.slug'])
          .executeTakeFirstOrThrow(() => new Problem('invalid-link'));
        // Otherwise the app would show the actor, whom it has logged in with OpenID Connect, instead of the person.
        await endOpenidLogins(tx, sql`session_id = ${sessionIdOf(actor)} and app_id = ${look.app_id}`);
        return { location: await urlOf(tx, look, {}), appSlug: look.slug, secret };
      }),

    /**
     * The running look of this browser at an app, or null. `launch` opens the app again.
     * @param secret the cookie
     */
    find: async (actor: Actor, secret: string, appSlug: string) => {
      const opening = await readLook(em, clock.now(), hasCookie(tokenDigest(secret), appSlug));
      const look = opening?.look;
      if (!look || look.sessionId !== sessionIdOf(actor)) return null;
      const row = { id: look.id, actor_id: look.actorId, app_id: opening.app_id };
      return {
        id: look.id,
        launch: (launch: Launch) => em.transactional((tx) => urlOf(tx, row, launch)),
      };
    },

    /** A look that the actor may end, with its state. @throws Problem `not-found` */
    get: (actor: Actor, id: number): Promise<LookRow> =>
      lookRows(em, clock.now())
        .where('view_as.id', '=', id)
        .where(isEndedBy(actor))
        .executeTakeFirstOrThrow(() => notFound('look')),

    /** The running looks that the actor may end. Newest first. */
    running: (actor: Actor): Promise<LookRow[]> =>
      lookRows(em, clock.now()).where(isEndedBy(actor)).where(isRunning(clock.now())).execute(),

    /** Who looked at apps as the actor. Newest first. */
    ofPerson: (actor: Actor, page: CursorPageRequest): Promise<LookRow[]> => {
      const rows = lookRows(em, clock.now()).where('view_as.user_id', '=', actor.id);
      return readPage(afterCursor(rows, 'view_as.id', page.cursor, 'desc'), 'view_as.id', page);
    },

    /**
     * The apps at which the actor may look as this person now.
     * @throws Problem `not-found`
     */
    appsFor: async (actor: Actor, email: string) => {
      const now = clock.now();
      const person = await readTarget(em, actor, email);
      const openings = await openingsByUser(em, now)
        .where('users.id', '=', person.id)
        .where('apps.view_as', '=', true)
        .orderBy('apps.label')
        .execute();
      return openings
        .filter((opening) => lookRefusal(actor, person, opening) === null)
        .filter(
          (opening) => decideAccess(opening, now) === 'allowed' && !leadsToApi(appUrlOf(opening, appUrl)),
        )
        .map(({ app_id: id, app_slug: slug, app_label: label }) => ({ id, slug, label }));
    },

    /**
     * Ends a look: by the person who looks, the person of the look, or an admin of the client. Nothing changes if it has ended.
     * @throws Problem `not-found`
     */
    end: (actor: Actor, id: number): Promise<void> =>
      em.transactional(async (tx) => {
        const { id: found } = await lookRows(tx, clock.now())
          .where('view_as.id', '=', id)
          .where(isEndedBy(actor))
          .executeTakeFirstOrThrow(() => notFound('look'));
        await endLooks({ tx, now: clock.now(), audit }, actor, condition`view_as.id = ${found}`);
      }),
  };
};

const sessionIdOf = ({ credential }: Actor): number => (credential?.kind === 'session' ? credential.id : 0);

const isRunning = (now: Date): Condition =>
  condition`(view_as.ended_at is null and view_as.ends_at > ${now}::timestamptz)`;

/** SQL: looks that the actor may end. */
const isEndedBy = (actor: Actor): Condition => {
  const isOwn = condition`(${actor.id} in (view_as.actor_id, view_as.user_id) and ${isInScope(actor.scope, sql`view_as.client_id`)})`;
  return condition`(${isOwn} or ${isAllowedIn(sql`view_as.client_id`, actor, 'configure')})`;
};

const lookRows = (em: Em, now: Date) =>
  kysely(em)
    .selectFrom('view_as')
    .innerJoin('users as actor', 'actor.id', 'view_as.actor_id')
    .innerJoin('users as person', 'person.id', 'view_as.user_id')
    .innerJoin('apps', 'apps.id', 'view_as.app_id')
    .innerJoin('clients', 'clients.id', 'view_as.client_id')
    .select(['view_as.id', 'view_as.reason', 'view_as.begun_at', 'view_as.ends_at'])
    .select(['actor.email as actor', 'person.email as user'])
    .select([fullName('actor').as('actor_name'), fullName('person').as('user_name')])
    .select(['apps.id as app', 'apps.slug as app_slug', 'apps.label as app_label'])
    .select(['view_as.client_id as client', 'clients.name as client_name'])
    .select(
      sql<Date | null>`coalesce(view_as.ended_at, case when view_as.ends_at <= ${now}::timestamptz then view_as.ends_at end)`.as(
        'ended_at',
      ),
    )
    .orderBy('view_as.id', 'desc');

type LookRow = Awaited<ReturnType<ReturnType<typeof lookRows>['execute']>>[number];

/** Ends the looks that run, or whose end by the clock is not recorded. @param actor null: by the clock */
const endLooks = async (
  { tx, now, audit }: Transaction,
  actor: Actor | null,
  isEnded: Condition,
): Promise<void> => {
  const ended = await kysely(tx)
    .updateTable('view_as')
    .set({ ended_at: sql`least(ends_at, ${now}::timestamptz)` })
    .from('users')
    .whereRef('users.id', '=', 'view_as.user_id')
    .where('ended_at', 'is', null)
    .where(isEnded)
    .returning(['view_as.id', 'view_as.app_id', 'view_as.client_id', 'view_as.actor_id', 'view_as.reason'])
    .returning(['users.id as user_id', 'users.email'])
    .execute();
  await audit.record(
    tx,
    ended.map(({ id, app_id: app, client_id, actor_id: viewer, reason, user_id, email }) => ({
      action: 'user.view-as-end',
      actor,
      target: ofUser({ id: user_id, email }),
      clients: [client_id],
      details: { id, app, viewer, reason },
    })),
  );
};

/** Mails the person, if the client wants it. */
const enqueueMail = async (tx: Em, id: number, now: Date): Promise<void> => {
  await sql`
    insert into outbox_mails (kind, recipient, client_id, user_id, view_as_id, ${NEW_MAIL})
    select 'viewed-as', users.email, v.client_id, users.id, v.id, ${newMailValues(now)}
    from view_as v join users on users.id = v.user_id join clients on clients.id = v.client_id
    where v.id = ${id} and clients.mail_view_as`.execute(kysely(tx));
};

/** Records the end of looks by the clock, and deletes looks after as many days as the audit entries about them; 0 days keep them. */
export const closeLooks = async (em: Em, audit: Audit, now: Date, auditDays: number): Promise<void> => {
  await em.transactional((tx) =>
    endLooks({ tx, now, audit }, null, condition`ends_at <= ${now}::timestamptz`),
  );
  if (auditDays > 0) await deleteInBatches(em, 'view_as', sql`ended_at < ${before(now, auditDays * DAY_MS)}`);
};
