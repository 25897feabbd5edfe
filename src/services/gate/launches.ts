import { type Em, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { isSecret, newSecret } from '../../lib/ids.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import { telemetry } from '../../lib/telemetry.ts';
import { type Actor, proofOf } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { EVERYWHERE } from '../access/scope.ts';
import { appRows } from '../apps/app-rows.ts';
import { tokenDigest } from '../auth/credentials.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import type { Opening } from './app-access.ts';
import { createTickets, type IssuedTicket, type TicketSubject } from './tickets.ts';

const LAUNCH_CODE_MS = MINUTE_MS;

type Launch = { appSlug: string; stackSlug: string | null; state: string | undefined };

/** Opens apps for logged-in users: with a code, which the app exchanges for a ticket. */
export const createLaunches = (unit: UnitOfWork) => {
  const { em, clock, appUrl } = unit;
  const tickets = createTickets(unit);

  return {
    /**
     * The URL that opens an app, with a code if it leads to the app's own site.
     * @throws Problem `not-found` on the app or the stack, `client-closed`, `app-in-maintenance`, `second-factor-required`
     */
    launch: async (actor: Actor, { appSlug, stackSlug, state }: Launch): Promise<string> => {
      const found = await appRows(em, actor, clock.now())
        .where('apps.slug', '=', appSlug)
        .executeTakeFirstOrThrow(() => notFound('app'));
      const user = { kind: 'user', userId: actor.id, scope: actor.scope, proof: proofOf(actor) } as const;
      const subject = { ...user, appId: found.id, stackSlug };
      const opening = await tickets.requireOpening(subject);
      const createCode = () => em.transactional((tx) => createLaunchCode(tx, subject, clock.now()));
      const url = appUrlOf(opening, appUrl);
      if (!can(actor, 'view', found.client_id)) await noteFirstOpening(em, found.id, clock.now());
      return (await usesOpenid(em, found.id)) ? url : withLaunchCode(url, createCode, state);
    },

    /**
     * Exchanges a code for a ticket, once. An attempt for another app does not use it up.
     * @throws Problem `invalid-launch-code`, `app-in-maintenance`
     */
    exchange: async (code: string, appSlug: string): Promise<IssuedTicket> => {
      const used = isSecret(code) ? await redeemCode(em, code, appSlug) : undefined;
      if (!used || used.expires_at <= clock.now()) {
        telemetry.ticket.publish(() => ({ outcome: 'invalid-launch-code' }));
        throw new Problem('invalid-launch-code');
      }
      return tickets.issueTicket(subjectOf(used)).catch((error: unknown) => {
        // The app must not learn the reason.
        throw error instanceof Problem && error.status < 500 ? new Problem('invalid-launch-code') : error;
      });
    },
  };
};

const noteFirstOpening = (em: Em, appId: string, now: Date) =>
  kysely(em)
    .updateTable('apps')
    .set({ first_opened_at: now })
    .where('id', '=', appId)
    .where('first_opened_at', 'is', null)
    .execute();

/**
 * A code that the app exchanges for a ticket, once, within 60 seconds. Only its digest is stored. The caller must have checked that the
 * subject may open the app.
 */
export const createLaunchCode = async (tx: Em, subject: TicketSubject, now: Date): Promise<string> => {
  const code = newSecret();
  const proof = subject.kind === 'user' ? subject.proof : null;
  await kysely(tx)
    .insertInto('launch_codes')
    .values({
      digest: tokenDigest(code),
      app_id: subject.appId,
      // Of the person who looks: a version that does not know looks must not open the app as the other one.
      user_id: subject.kind === 'look' ? subject.actorId : subject.kind === 'user' ? subject.userId : null,
      confined_to: subject.kind === 'user' ? subject.scope.only : null,
      access_view_use_id: subject.kind === 'view' ? subject.useId : null,
      view_as_id: subject.kind === 'look' ? subject.lookId : null,
      stack_slug: subject.stackSlug ?? null,
      methods: proof ? [...proof.methods] : null,
      auth_time: proof?.authTime ?? null,
      expires_at: new Date(now.getTime() + LAUNCH_CODE_MS),
    })
    .execute();
  return code;
};

/** Whether the app logs people in with OpenID Connect: then it needs no code. */
export const usesOpenid = async (em: Em, appId: string): Promise<boolean> =>
  (await kysely(em)
    .selectFrom('openid_apps')
    .select('app_id')
    .where('app_id', '=', appId)
    .executeTakeFirst()) !== undefined;

/** Of concurrent exchanges, one gets the row. */
const redeemCode = (em: Em, code: string, appSlug: string) =>
  kysely(em)
    .deleteFrom('launch_codes')
    .using('apps')
    .where('launch_codes.digest', '=', tokenDigest(code))
    .whereRef('apps.id', '=', 'launch_codes.app_id')
    .where('apps.slug', '=', appSlug)
    .returning(['app_id', 'user_id', 'access_view_use_id', 'view_as_id', 'stack_slug'])
    .returning(['methods', 'auth_time', 'confined_to', 'expires_at'])
    .executeTakeFirst();

type UsedCode = NonNullable<Awaited<ReturnType<typeof redeemCode>>>;

const subjectOf = ({ app_id: appId, stack_slug: stackSlug, ...code }: UsedCode): TicketSubject => {
  const app = { appId, stackSlug };
  if (code.access_view_use_id !== null) return { ...app, kind: 'view', useId: code.access_view_use_id };
  const { user_id: userId, methods, auth_time: authTime, confined_to: only, view_as_id: lookId } = code;
  if (userId !== null && lookId !== null) return { ...app, kind: 'look', lookId, actorId: userId };
  const proof = methods && authTime ? { methods, authTime } : null;
  if (userId !== null) return { ...app, kind: 'user', userId, scope: { ...EVERYWHERE, only }, proof };
  throw new Error('a launch code has no subject'); // the table has a check
};

/**
 * The URL at which an app opens: its own `launch_url`, or else the URL from APP_URL.
 * @param template with `{slug}` or `{id}`
 */
export const appUrlOf = ({ app_id, app_slug, launch_url }: Opening, template: string): string =>
  launch_url === '' ? template.replaceAll('{slug}', app_slug).replaceAll('{id}', app_id) : launch_url;

/**
 * Adds a code to the query of a URL. Paths of Steward itself need none.
 * @param state returned to the app with the code, so that the app knows that its own visitor began the launch
 */
export const withLaunchCode = async (
  appUrl: string,
  createCode: () => Promise<string>,
  state?: string,
): Promise<string> => {
  const url = URL.parse(appUrl);
  if (url === null) return appUrl;
  const added = new URLSearchParams({ code: await createCode(), ...(state && { state }) });
  url.search = url.search === '' ? `?${added}` : `${url.search}&${added}`;
  return url.href;
};
