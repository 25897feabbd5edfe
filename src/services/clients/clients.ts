import { type InferResult, sql } from 'kysely';
import { Client, Site } from '../../../entities/client.ts';
import { condition, type Em, kysely, pickDefined } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { invalid, notFound, roleRequired } from '../../lib/problems.ts';
import { type Actor, requireIn } from '../access/actor.ts';
import { type Action, can } from '../access/permissions.ts';
import { clientVisibleTo, isPerson } from '../access/visibility.ts';
import { type AuditEvent, isEmpty, ofClient } from '../audit/audit.ts';
import { editEntity, requireExpected } from '../audit/edits.ts';
import { enqueueExpiryNotices } from '../policies/password-expiry.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** Limit of the database columns. */
const MAX_LINE_LENGTH = 255;

/** Default branding of a new client. */
export const defaultBranding = (name: string) => ({
  loginTitle: `Welcome to ${name}`.slice(0, MAX_LINE_LENGTH).toWellFormed(),
  loginSubtitle: 'Log in to see your apps.',
  subtitle404: 'We could not find that page',
  message404: 'The page may have moved, or the link may be incomplete.',
  subtitle500: 'Something went wrong on our side',
  message500: 'Please try again in a moment.',
});

/** Columns that an admin may change, named as in the database and the API. */
type ClientUpdate = {
  [K in keyof Omit<ClientRow, 'id' | 'site' | keyof GateChanges | `factor_${string}`>]?:
    | ClientRow[K]
    | undefined;
};

/** The longest minimum that a client admin may require: it also applies to people who belong to other clients. */
const MAX_OWN_LENGTH = 64;

type GateChanges = { is_open?: boolean | undefined; embed_origins?: string[] | undefined };

export const createClients = ({ em, audit, clock }: UnitOfWork) => ({
  list: (actor: Actor, page: CursorPageRequest): Promise<ClientRow[]> =>
    readPage(afterCursor(visibleClients(em, actor), 'clients.id', page.cursor), 'clients.id', page),

  /** By name, with how many people and apps they have, and when someone last used one of these apps. */
  overview: (actor: Actor, id: number | undefined) => {
    const overviews = clientOverviews(em, actor);
    return (id === undefined ? overviews : overviews.where('clients.id', '=', id)).execute();
  },

  /** @throws Problem `not-found` */
  get: (actor: Actor, id: number): Promise<ClientRow> => readClient(em, actor, id),

  /** @throws Problem `not-found`, `forbidden`, `precondition-failed`, `invalid-input` on `name`, `password_min_length` */
  update: (actor: Actor, id: number, changes: ClientUpdate, expected?: ClientUpdate): Promise<ClientRow> =>
    em.transactional(async (tx) => {
      const { row: before, client } = await lockClient(tx, actor, id);
      requireExpected(before, expected);
      const defined = pickDefined(changes);
      if (!defined) return before;
      const { password_min_length: length = before.password_min_length } = defined;
      if (length > MAX_OWN_LENGTH && length !== before.password_min_length && !can(actor, 'administer'))
        throw invalid({
          password_min_length: [`Must be at most ${MAX_OWN_LENGTH}. Only superusers may require more.`],
        });

      const details = editEntity(tx, Client, client, defined);
      await tx.flush();
      const [days, daysBefore] = [defined.password_expiration_days ?? 0, before.password_expiration_days];
      if (days > 0 && (daysBefore === 0 || days < daysBefore)) {
        const now = clock.now();
        const shortened = { clientIds: [id], userIds: null, daysBefore, now };
        await enqueueExpiryNotices(tx, { ...shortened, givesNotice: !can(actor, 'administer') });
      }
      const event = { actor, target: ofClient(client), clients: [id], details };
      if (!isEmpty(details)) await audit.record(tx, [{ action: 'client.update', ...event }]);
      return { ...before, ...defined };
    }),

  /** @throws Problem `invalid-input` on `name`, `site` */
  create: (actor: Actor, input: { name: string; site: number }): Promise<ClientRow> =>
    em.transactional(async (tx) => {
      const site = tx.getReference(Site, input.site);
      const client = tx.create(Client, { name: input.name, site, ...defaultBranding(input.name) });
      await tx.flush();
      const details = { id: client.id, site: input.site };
      const event = { actor, target: ofClient(client), clients: [client.id], details };
      await audit.record(tx, [{ action: 'client.create', ...event }]);
      return readClient(tx, actor, client.id);
    }),

  /**
   * Updates the gate. Only superusers close and reopen a client.
   * @throws Problem `not-found`, `forbidden`
   */
  updateGate: (actor: Actor, id: number, changes: GateChanges) =>
    em.transactional(async (tx) => {
      const { client } = await lockClient(tx, actor, id);
      const { is_open: openChange, ...details } = editEntity(tx, Client, client, changes);
      if (openChange && !can(actor, 'administer')) throw roleRequired('superuser');
      await tx.flush();
      const about = { actor, target: ofClient(client), clients: [id] };
      const events: AuditEvent[] = [];
      if (openChange) events.push({ action: client.isOpen ? 'client.reopen' : 'client.close', ...about });
      if (!isEmpty(details)) events.push({ action: 'client.update', ...about, details });
      await audit.record(tx, events);
      return { is_open: client.isOpen, embed_origins: client.embedOrigins };
    }),
});

const visibleClients = (em: Em, actor: Actor) =>
  kysely(em)
    .selectFrom('clients')
    .innerJoin('sites', 'sites.id', 'clients.site_id')
    .select(['clients.id', 'clients.name', 'default_from_email', 'invitation_subject', 'invitation_body'])
    .select(['login_title', 'login_subtitle', 'support_email', 'home_location'])
    .select(['subtitle_404', 'message_404', 'subtitle_500', 'message_500'])
    .select(['password_min_length', 'password_allow_common', 'password_require_numeric'])
    .select(['password_require_upper', 'password_require_lower', 'password_require_special'])
    .select(['password_expiration_days', 'help_desk_may_view_as', 'mail_view_as'])
    .select(['factor_policy', 'factor_grace_days', 'factor_mails', 'factor_policy_since'])
    .select(['is_open', 'embed_origins'])
    .select(
      sql<{ domain: string; formatted_name: string }>`json_build_object('domain', sites.domain,
        'formatted_name', regexp_replace(sites.domain, ':[0-9]+$', ''))`.as('site'),
    )
    .where(clientVisibleTo(actor, sql`clients.id`))
    .orderBy('clients.id');

/** Reads the memberships once for all clients, and of each app only its last day with usage. */
const clientOverviews = (em: Em, actor: Actor) =>
  kysely(em)
    .with('members', (db) =>
      db
        .selectFrom('memberships as m')
        .innerJoin('users', 'users.id', 'm.user_id')
        .select('m.client_id')
        .select(sql<number>`count(*)`.as('people'))
        .select(sql<number>`count(*) filter (where m.is_admin)`.as('admins'))
        .select(sql<number>`count(*) filter (where m.roles <> '{}' and not m.is_admin)`.as('delegates'))
        .where(clientVisibleTo(actor, sql`m.client_id`))
        .where(condition`m.is_active_member and users.is_active and ${isPerson}`)
        .groupBy('m.client_id'),
    )
    .with('used', (db) =>
      db
        .selectFrom('apps as a')
        .select('a.client_id')
        .select(sql<number>`count(*)`.as('apps'))
        .select(
          sql<string | null>`max((select max(day) from usage_app_days d where d.app_id = a.id))::text`.as(
            'last_used_day',
          ),
        )
        .where(clientVisibleTo(actor, sql`a.client_id`))
        .groupBy('a.client_id'),
    )
    .selectFrom('clients')
    .innerJoin('sites', 'sites.id', 'clients.site_id')
    .leftJoin('members', 'members.client_id', 'clients.id')
    .leftJoin('used', 'used.client_id', 'clients.id')
    .select(['clients.id', 'clients.name', 'clients.is_open', 'sites.domain', 'used.last_used_day'])
    .select([
      sql<number>`coalesce(members.people, 0)`.as('people'),
      sql<number>`coalesce(members.admins, 0)`.as('admins'),
      sql<number>`coalesce(members.delegates, 0)`.as('delegates'),
      sql<number>`coalesce(used.apps, 0)`.as('apps'),
    ])
    .where(clientVisibleTo(actor, sql`clients.id`))
    .orderBy('clients.name')
    .orderBy('clients.id');

export type ClientRow = InferResult<ReturnType<typeof visibleClients>>[number];

/** @throws Problem `not-found`, also for a client that the actor may not see */
export const readClient = (em: Em, actor: Actor, id: number): Promise<ClientRow> =>
  visibleClients(em, actor)
    .where('clients.id', '=', id)
    .executeTakeFirstOrThrow(() => notFound('client'));

/**
 * A client in which the actor may do this.
 * @throws Problem `not-found`, `forbidden`
 */
export const readManagedClient = async (
  em: Em,
  actor: Actor,
  id: number,
  action: Action,
): Promise<ClientRow> => {
  const client = await readClient(em, actor, id);
  requireIn(actor, action, id);
  return client;
};

/**
 * Locks a client that the actor may configure, for no key update: rows that refer to it, such as members and usage, can still be added.
 * @throws Problem `not-found`, `forbidden`
 */
export const lockClient = async (tx: Em, actor: Actor, id: number) => {
  const row = await visibleClients(tx, actor)
    .where('clients.id', '=', id)
    .forNoKeyUpdate('clients')
    .executeTakeFirstOrThrow(() => notFound('client'));
  requireIn(actor, 'configure', id);
  return { row, client: await tx.findOneOrFail(Client, id, { refresh: true }) };
};
