import { LockMode } from '@mikro-orm/postgresql';
import { type InferResult, sql } from 'kysely';
import { AccessRequest, type RequestStatus } from '../../../entities/access-request.ts';
import { App } from '../../../entities/app.ts';
import { User } from '../../../entities/user.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { invalid, notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireIn } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { isInScope } from '../access/scope.ts';
import { appAccess, userClientVisibleTo } from '../access/visibility.ts';
import { addressOf } from '../accounts/addresses.ts';
import { lockActiveUser, lockVisibleUser } from '../accounts/user-locks.ts';
import { type ActionOn, type DetailsOf, ofUser } from '../audit/audit.ts';
import { enqueueDecisionMail, enqueueRequestMails } from '../outbox/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { grantApp } from './grants.ts';

export { REQUEST_STATUSES } from '../../../entities/access-request.ts';

type Filter = {
  status: RequestStatus | 'all';
  client?: number | undefined;
  app?: string | undefined;
  email?: string | undefined;
};
type Asked = { app: string; reason: string; days: number | null };
type Denial = { version: number; reason: string };
/** Without `expires_at`, the grant lasts as long as the person requested. */
type Approval = Denial & { expires_at?: Date | null | undefined };

/** Requests of people for apps of their clients, and the decisions about them. */
export const createAccessRequests = ({ em, clock, audit }: Pick<UnitOfWork, 'em' | 'clock' | 'audit'>) => {
  /** Records a change of a request, and returns the request. */
  const record = async (
    tx: Em,
    action: ActionOn<'access-request'>,
    actor: Actor,
    id: number,
    terms: Pick<DetailsOf<typeof action>, 'days' | 'expires_at'> = {},
  ) => {
    const row = await readRequest(tx, actor, id);
    const about = { actor, target: ofUser({ id: row.user_id, email: row.email }), clients: [row.client] };
    await audit.record(tx, [{ action, ...about, details: { id, app: row.app, ...terms } }]);
    return outputFor(actor)(row);
  };

  return {
    /** The apps that the actor may ask for, by client and age. */
    requestable: (actor: Actor) =>
      requestableApps(em, actor, clock.now())
        .select(['apps.client_id as client', 'clients.name as client_name'])
        .select(['apps.slug', 'apps.label', 'apps.description'])
        .select(
          condition`exists (select from access_requests r
            where r.user_id = ${actor.id} and r.app_id = apps.id and r.status = 'pending')`.as('is_pending'),
        )
        .orderBy('apps.client_id')
        .orderBy('apps.created_at')
        .orderBy('apps.id')
        .execute(),

    /** The actor's own requests, and requests in clients that the actor may see. Newest first. */
    list: async (actor: Actor, filter: Filter, page: CursorPageRequest) => {
      let rows = afterCursor(requestRows(em, actor), 'r.id', page.cursor, 'desc').orderBy('r.id', 'desc');
      if (filter.status !== 'all') rows = rows.where('r.status', '=', filter.status);
      if (filter.client !== undefined) rows = rows.where('apps.client_id', '=', filter.client);
      if (filter.app !== undefined) rows = rows.where('r.app_id', '=', filter.app);
      if (filter.email !== undefined) rows = rows.where('users.email', '=', filter.email);
      return (await readPage(rows, 'r.id', page)).map(outputFor(actor));
    },

    /** @throws Problem `not-found` */
    get: async (actor: Actor, id: number) => outputFor(actor)(await readRequest(em, actor, id)),

    /**
     * Asks for an app, or changes the pending request for it.
     * @throws Problem `invalid-input` on `app`
     */
    create: (actor: Actor, { app, reason, days }: Asked) =>
      em.transactional(async (tx) => {
        const now = clock.now();
        await lockForRequest(tx, actor, clock.now(), app);
        const pending = await tx.findOne(AccessRequest, { user: actor.id, app, status: 'pending' });
        const isChanged = pending === null || pending.change(reason, days);
        const [user, ofApp] = [tx.getReference(User, actor.id), tx.getReference(App, app)];
        const request =
          pending ?? tx.create(AccessRequest, { user, app: ofApp, reason, days, createdAt: now });
        await tx.flush();
        const row = await readRequest(tx, actor, request.id);
        if (!pending) await enqueueRequestMails(tx, row, now);
        return isChanged
          ? record(tx, 'access-request.create', actor, request.id, { days })
          : outputFor(actor)(row);
      }),

    /** @throws Problem `not-found`, `request-decided` */
    withdraw: (actor: Actor, id: number) =>
      em.transactional(async (tx) => {
        await lockActiveUser(tx, actor.id);
        await readRequest(tx, actor, id);
        const request = await tx.findOne(AccessRequest, { id, user: actor.id }, LOCK);
        if (!request) throw notFound('access request');
        await requirePending(tx, actor, request);
        request.end('withdrawn', { by: actor.id, at: clock.now() });
        await tx.flush();
        return record(tx, 'access-request.withdraw', actor, id);
      }),

    /**
     * Grants the app like `grants.create`.
     * @throws Problem `not-found`, `forbidden`, `self-modification`, `request-decided`, and the problems of `grantApp`
     */
    approve: (actor: Actor, id: number, { version, expires_at, reason }: Approval) =>
      em.transactional(async (tx) => {
        const now = clock.now();
        const { email, app, ...request } = await lockUndecided(tx, actor, id, version);
        const expiresAt = expires_at === undefined ? endOf(request.days, now) : expires_at;
        request.entity.end('approved', { by: actor.id, at: now, reason, expiresAt });
        await tx.flush();
        const grant = { expires_at: expiresAt, reason: request.reason };
        await grantApp({ tx, now, audit }, actor, app, email, grant);
        await enqueueDecisionMail(tx, id, now);
        const terms = { expires_at: expiresAt?.toISOString() ?? null };
        return record(tx, 'access-request.approve', actor, id, terms);
      }),

    /** @throws Problem `not-found`, `forbidden`, `self-modification`, `request-decided` */
    deny: (actor: Actor, id: number, { version, reason }: Denial) =>
      em.transactional(async (tx) => {
        const now = clock.now();
        const { entity } = await lockUndecided(tx, actor, id, version);
        entity.end('denied', { by: actor.id, at: now, reason });
        await tx.flush();
        await enqueueDecisionMail(tx, id, now);
        return record(tx, 'access-request.deny', actor, id);
      }),
  };
};

const LOCK = { lockMode: LockMode.PESSIMISTIC_WRITE };

/** The apps that the actor may ask for. Users with a role cannot ask: admins of a client do not change their apps. */
const requestableApps = (em: Em, actor: Actor, now: Date) =>
  kysely(em)
    .selectFrom('apps')
    .innerJoin('clients', 'clients.id', 'apps.client_id')
    .innerJoin('memberships as m', 'm.client_id', 'apps.client_id')
    .select('apps.id')
    .where('m.user_id', '=', actor.id)
    .where('m.is_active_member', '=', true)
    .where(isInScope(actor.scope, sql`m.client_id`))
    .where('clients.is_open', '=', true)
    .where('apps.is_requestable', '=', true)
    .where(condition`${!can(actor, 'view')}::boolean`)
    .where(
      condition`not exists (select from ${appAccess(now)} g where g.user_id = ${actor.id} and g.app_id = apps.id)`,
    );

/**
 * Locks the actor, the admins who are mailed, and the app, until the transaction ends. In the order of other transactions: users first, by
 * id. So a suspension of the actor waits, or is seen; and of two requests for the app, the second sees the mails of the first.
 * @throws Problem `invalid-input` on `app`
 */
const lockForRequest = async (tx: Em, actor: Actor, now: Date, app: string): Promise<void> => {
  const db = kysely(tx);
  await requireRequestable(tx, actor, now, app);
  await sql`
    select from users where id = ${actor.id} or id in (
      select m.user_id from memberships m join apps a on a.client_id = m.client_id
      where a.id = ${app} and m.is_admin)
    order by id for key share`.execute(db);
  await sql`select from apps where id = ${app} for no key update`.execute(db);
  await requireRequestable(tx, actor, now, app);
};

/** @throws Problem `invalid-input` on `app`, also for an app that does not exist */
const requireRequestable = async (tx: Em, actor: Actor, now: Date, app: string): Promise<void> => {
  await requestableApps(tx, actor, now)
    .where('apps.id', '=', app)
    .executeTakeFirstOrThrow(() => invalid({ app: ['You cannot ask for an app with this id.'] }));
};

/**
 * Requests that the viewer may see: the viewer's own, and requests of people in clients that the viewer may see. Only requests of present
 * members of the client.
 */
const requestRows = (em: Em, viewer: Actor) =>
  kysely(em)
    .selectFrom('access_requests as r')
    .innerJoin('users', 'users.id', 'r.user_id')
    .innerJoin('apps', 'apps.id', 'r.app_id')
    .innerJoin('clients', 'clients.id', 'apps.client_id')
    .select(['r.id', 'r.user_id', 'r.version', 'r.status'])
    .select(['users.email', 'users.first_name', 'users.last_name'])
    .select(['r.app_id as app', 'apps.label as app_label'])
    .select(['apps.client_id as client', 'clients.name as client_name'])
    .select(['r.reason', 'r.days', 'r.created_at', 'r.decided_at'])
    .select(addressOf(viewer, sql`r.decided_by`, sql`r.decided_at`).as('decided_by'))
    .select(['r.decision_reason', 'r.expires_at'])
    .where(userClientVisibleTo(viewer, sql`r.user_id`, sql`apps.client_id`))
    // Applies to the person's own requests, too: after they have left a client, they do not see its decisions about them.
    .where(
      condition`exists (select from memberships m
        where m.user_id = r.user_id and m.client_id = apps.client_id)`,
    );

type RequestRow = InferResult<ReturnType<typeof requestRows>>[number];

/** `can_decide`: whether the request is pending, and the viewer may approve or deny it. */
const outputFor = (viewer: Actor) => (row: RequestRow) => ({
  ...row,
  can_decide:
    row.status === 'pending' && row.user_id !== viewer.id && can(viewer, 'manage-grants', row.client),
});

/** @throws Problem `not-found` */
const readRequest = (em: Em, actor: Actor, id: number): Promise<RequestRow> =>
  requestRows(em, actor)
    .where('r.id', '=', id)
    .executeTakeFirstOrThrow(() => notFound('access request'));

/**
 * Locks the person first, then the request, like all transactions that change the access of the person.
 * @throws Problem `not-found`, `forbidden`, `self-modification`, `request-decided`
 */
const lockUndecided = async (tx: Em, actor: Actor, id: number, version: number) => {
  const row = await readRequest(tx, actor, id);
  if (row.user_id === actor.id)
    throw new Problem('self-modification', { detail: 'Someone else must decide your own requests.' });
  requireIn(actor, 'manage-grants', row.client);
  await requirePending(tx, actor, row, version);
  await lockVisibleUser(tx, actor, row.email);
  const entity = await tx.findOneOrFail(AccessRequest, id, LOCK);
  await requirePending(tx, actor, entity, version);
  return { ...row, entity };
};

/** @throws Problem `request-decided`, with the name of the user who decided */
const requirePending = async (
  tx: Em,
  actor: Actor,
  { id, status, ...request }: Pick<AccessRequest, 'id' | 'status' | 'version'>,
  version = request.version,
): Promise<void> => {
  if (status === 'pending' && request.version === version) return;
  const { decided_by: by } = await readRequest(tx, actor, id);
  const detail =
    status === 'pending'
      ? 'The person has changed this request since you read it. Read it again.'
      : `This request was ${status}${by === null ? '' : ` by ${by}`}.`;
  throw new Problem('request-decided', { detail });
};

const endOf = (days: number | null, now: Date): Date | null =>
  days === null ? null : new Date(now.getTime() + days * DAY_MS);
