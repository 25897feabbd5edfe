import { type InsertObject, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { newAccessViewKey } from '../../lib/ids.ts';
import { canonicalAddress } from '../../lib/ip-networks.ts';
import { notFound } from '../../lib/problems.ts';
import { telemetry } from '../../lib/telemetry.ts';
import { leadsToApi } from '../../lib/urls.ts';
import { type Actor, proofOf } from '../access/actor.ts';
import { hasGlobalRole } from '../access/visibility.ts';
import { maintenanceTime } from '../apps/maintenance.ts';
import { ofApp } from '../audit/audit.ts';
import type { LoginStep } from '../policies/factor-policy.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { ensureMonths } from '../usage/usage-months.ts';
import { lockUsage, writeUsage } from '../usage/usage-writes.ts';
import {
  type AppAccess,
  decideAccess,
  factorStepOf,
  isInNetwork,
  type Opening,
  openingsByView,
  stackBySlug,
} from './app-access.ts';
import { createEmbedSession } from './embeds.ts';
import { appUrlOf, createLaunchCode, withLaunchCode } from './launches.ts';

type KnownView = NonNullable<Awaited<ReturnType<typeof findView>>>;

export type RefusedView = RefusalPage & {
  refusal: ViewRefusal;
  /**
   * For `needs-factor`: the step that the visitor still needs, and whether they are logged in, as the person of the view or as another one.
   */
  loginStep: LoginStep | null;
  visitor: 'self' | 'other' | null;
  allowedUses: number;
  expiresAt: Date | null;
};

/** Rolls back a use if the app may not be opened after all. */
class Refused extends Error {
  readonly reason: Reason;

  constructor(refusal: ViewRefusal, loginStep: LoginStep | null = null) {
    super(refusal);
    this.reason = { refusal, loginStep };
  }
}

type Reason = Pick<RefusedView, 'refusal' | 'loginStep'>;

/** Texts of another form cannot be keys, and the database rejects some of them. */
const KEY = /^\w{1,64}$/;

/** Opens apps by access views, for anyone who has the key. */
export const createViewOpening = (unit: UnitOfWork) => {
  const { em, clock, origin, anonymousLimits, usageWriteLimiter, appUrl } = unit;
  const address = canonicalAddress(origin.address ?? '');

  const refuse = async (view: KnownView, reason: Reason, visitor: Actor | null): Promise<RefusedView> => ({
    ...(await readRefusalPage(em, view.app_id, clock.now())),
    ...reason,
    visitor: visitor && (visitor.id === view.user_id ? 'self' : 'other'),
    allowedUses: view.allowed_uses,
    expiresAt: view.expires_at,
  });

  const proofIn = (opening: Opening, visitor: Actor | null) =>
    visitor?.id === opening.user_id && visitor ? proofOf(visitor) : null;

  /** A link must not bypass the requirements of the client for the person. */
  const missingStep = (opening: Opening, visitor: Actor | null) =>
    factorStepOf(opening, { proof: proofIn(opening, visitor), isToken: false }, clock.now());

  /** Takes the locks of the user and of the usage log before the lock of the view, in the same order as an erasure. */
  const use = async (tx: Em, known: KnownView, { key, userAgent, visitor }: Visit) => {
    if (known.user_id !== null && !(await lockSubject(tx, known.user_id, known.app_id)))
      throw new Refused('not-granted');
    await lockUsage(known.app_id).execute(kysely(tx));
    const view = await countUse(tx, key, clock.now(), address);
    // Another request has used up the view, changed it, or given it another key.
    if (!view) throw new Refused((await findView(tx, key, clock.now(), address))?.refusal ?? 'used-up');
    const ofView = condition`access_views.id = ${view.access_view_id}`;
    const opening = await openingsByView(tx, clock.now(), ofView).executeTakeFirstOrThrow();
    const access = decideAccess(opening, clock.now());
    if (access !== 'allowed') throw new Refused(access);
    const loginStep = missingStep(opening, visitor);
    if (loginStep !== null) throw new Refused('needs-factor', loginStep);
    if (leadsToApi(appUrlOf(opening, appUrl))) throw new Refused('no-address');
    const proof = proofIn(opening, visitor);
    const useId = await insertUse(tx, {
      ...view,
      used_at: clock.now(),
      raw_key: key,
      methods: proof && [...proof.methods],
      auth_time: proof?.authTime,
      ip_address: origin.address ?? '',
      user_agent: storedUserAgent(userAgent),
    });
    await recordUse(unit, tx, opening);
    return start(tx, opening, useId);
  };

  const start = async (tx: Em, opening: Opening, useId: number) => {
    const subject = { kind: 'view', useId, appId: opening.app_id, stackSlug: opening.view_stack } as const;
    const code = () => createLaunchCode(tx, subject, clock.now());
    return {
      location: await withLaunchCode(appUrlOf(opening, appUrl), code),
      appSlug: opening.app_slug,
      session: await createEmbedSession(tx, {
        useId,
        viewExpiresAt: opening.is_one_time ? null : opening.expires_at,
        now: clock.now(),
      }),
    };
  };

  /**
   * After two clicks, a browser follows only the second response, so the use of the first click is started again, unless what it had opened
   * was ended in between: this waits for the lock of `revokeTickets`.
   */
  const repeat = async (tx: Em, { id }: KnownView, { key, userAgent, visitor }: Visit) => {
    const now = clock.now();
    await kysely(tx).selectFrom('access_views').select('id').where('id', '=', id).forShare().execute();
    const last = await kysely(tx)
      .selectFrom('access_view_uses')
      .select('id')
      .where('access_view_id', '=', id)
      .where('raw_key', '=', key)
      .where('ip_address', '=', origin.address ?? '')
      .where('user_agent', '=', storedUserAgent(userAgent))
      .where('used_at', '>', new Date(now.getTime() - DOUBLE_CLICK_MS))
      .where(
        condition`exists (select from embed_sessions s where s.access_view_use_id = access_view_uses.id)`,
      )
      .orderBy('id', 'desc')
      .executeTakeFirst();
    if (!last) return null;
    const ofView = condition`access_views.id = ${id}`;
    const opening = await openingsByView(tx, now, ofView).executeTakeFirstOrThrow();
    const isOpen = decideAccess(opening, now) === 'allowed' && missingStep(opening, visitor) === null;
    return isOpen ? start(tx, opening, last.id) : null;
  };

  const repeatOrRefuse = async (known: KnownView, reason: Reason, visit: Visit) => {
    const isRepeated = reason.refusal === 'used-up' && visit.isConfirmed && !known.is_one_time;
    const repeated = isRepeated ? await em.transactional((tx) => repeat(tx, known, visit)) : null;
    return repeated ?? refuse(known, reason, visit.visitor);
  };

  return {
    /**
     * Uses a view, or returns the reason why it does not open its app.
     * @throws Problem `not-found` (also for keys that were replaced), `throttled`, `overloaded`
     */
    open: async (visit: Visit) => {
      const { key, isConfirmed } = visit;
      const known = KEY.test(key) ? await findView(em, key, clock.now(), address) : undefined;
      if (!known) throw notFound('access view');
      // A platform opens its own views at once; other views are sent by mail.
      const asks = known.allowed_uses > 0 && !known.is_one_time && !isConfirmed;
      const refusal = known.refusal ?? (asks ? 'unconfirmed' : null);
      if (refusal !== null) return repeatOrRefuse(known, { refusal, loginStep: null }, visit);
      if (known.allowed_uses === 0) await anonymousLimits.addViewUse(known.id, origin.address ?? '');
      await ensureMonths(em, [clock.now()]);
      const useOnce = () => em.transactional((tx) => use(tx, known, visit));
      return usageWriteLimiter.within(known.app_id, 1, useOnce).catch((error: unknown) => {
        if (error instanceof Refused) return repeatOrRefuse(known, error.reason, visit);
        throw error;
      });
    },
  };
};

/**
 * Locks the user of a view against an erasure, if the user may belong to the client of the app. Opening the view of a person who has left
 * must not wait for changes that other clients make to them.
 */
const lockSubject = async (tx: Em, userId: number, appId: string): Promise<boolean> => {
  const locked = await kysely(tx)
    .selectFrom('users')
    .select('id')
    .where('id', '=', userId)
    .where(
      condition`(${hasGlobalRole()} or exists (select from memberships m join apps a on a.client_id = m.client_id
        where m.user_id = users.id and a.id = ${appId}))`,
    )
    .forShare('users')
    .executeTakeFirst();
  return locked !== undefined;
};

/** Records a use in the audit trail and in the usage log of the app; without a user, with an empty address. */
const recordUse = async ({ clock, audit }: UnitOfWork, tx: Em, opening: Opening) => {
  const { app_id, app_slug, view_id, view_stack, user_id, email } = opening;
  const details = { access_view: view_id, ...(user_id !== null && { user: user_id }) };
  const actor = user_id === null || email === null ? null : { id: user_id, email };
  const about = {
    actor,
    target: ofApp({ id: app_id, slug: app_slug }),
    clients: [opening.client_id],
    details,
  };
  await audit.record(tx, [{ action: 'access-view.use', ...about }]);
  // Usage is counted by the ids of stacks.
  const stack =
    view_stack === null ? undefined : await stackBySlug(tx, app_id, view_stack).executeTakeFirst();
  const extra = { app: app_slug, app_id, stack: stack?.id, access_view: view_id };
  const entry = {
    entryKey: null,
    email: email ?? '',
    fullName: opening.name ?? 'Guest',
    action: 'STACK_ACCESS',
    actionDescription: `Opened ${opening.app_label} with an access view`,
    stack: stack?.id ?? null,
    extra: JSON.stringify(extra),
    occurredAt: clock.now(),
  };
  await writeUsage(tx, app_id, [entry], clock.now());
  telemetry.usage.publish(() => ({ inserted: 1, duplicates: 0 }));
};

/** Why a view does not open its app, or does not open it yet. */
type ViewRefusal =
  | ('unconfirmed' | 'revoked' | 'expired' | 'used-up' | 'wrong-network' | 'no-address' | 'needs-factor')
  | Exclude<AppAccess, 'allowed'>;

const isExpired = (now: Date) => condition`coalesce(expires_at <= ${now}::timestamptz, false)`;
const isUsedUp = condition`(allowed_uses > 0 and uses >= allowed_uses)`;

/** Finds a view by its key, with the reason why it does not open its app, if the view alone is the reason. */
const findView = (em: Em, key: string, now: Date, address: string | null) =>
  kysely(em)
    .selectFrom('access_views')
    .select(['id', 'app_id', 'user_id', 'allowed_uses', 'expires_at', 'is_one_time'])
    .select(
      sql<ViewRefusal | null>`case when not is_active then 'revoked' when ${isExpired(now)} then 'expired'
        when ${isUsedUp} then 'used-up' when not ${isInNetwork(address)} then 'wrong-network' end`.as(
        'refusal',
      ),
    )
    .where('key', '=', key)
    .executeTakeFirst();

/**
 * Counts a use, gives the view a new key if it rotates, and returns the settings of the use. Concurrent calls with one key wait for each
 * other and then check the conditions again, so that only as many succeed as uses are left.
 */
const countUse = (tx: Em, key: string, now: Date, address: string | null) =>
  kysely(tx)
    .updateTable('access_views')
    .set({
      uses: sql`uses + 1`,
      key: sql`case when autorotate then ${newAccessViewKey()} else key end`,
    })
    .where('key', '=', key)
    .where('is_active', '=', true)
    .where(condition`not ${isExpired(now)} and not ${isUsedUp} and ${isInNetwork(address)}`)
    .returning(['id as access_view_id', 'user_id', 'data_permissions', 'selections', 'stack_slug'])
    .returning(['autorotate', 'show_header', 'show_footer', 'language_code'])
    .executeTakeFirst();

/**
 * `visitor`: the logged-in user of the browser. `isConfirmed`: whether the visitor has confirmed the use of a view whose uses are counted.
 */
type Visit = { key: string; userAgent: string; visitor: Actor | null; isConfirmed: boolean };

const DOUBLE_CLICK_MS = 5_000;

const MAX_USER_AGENT_LENGTH = 255;
const storedUserAgent = (text: string): string =>
  text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, MAX_USER_AGENT_LENGTH);

/** Returns its id. */
const insertUse = async (tx: Em, use: InsertObject<Database, 'access_view_uses'>): Promise<number> => {
  const insertion = kysely(tx).insertInto('access_view_uses').values(use).returning('id');
  return (await insertion.executeTakeFirstOrThrow()).id;
};

/** The content of the page about a refusal, in the branding of the app's client. */
const readRefusalPage = (em: Em, appId: string, now: Date) =>
  kysely(em)
    .selectFrom('apps')
    .innerJoin('clients', 'clients.id', 'apps.client_id')
    .select(['clients.name as client_name', 'support_email', 'embed_origins'])
    .select(['apps.label as app_label', 'maintenance_message'])
    .select(maintenanceTime('maintenance_until', now).as('maintenance_until'))
    .where('apps.id', '=', appId)
    .executeTakeFirstOrThrow();

type RefusalPage = Awaited<ReturnType<typeof readRefusalPage>>;
