import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { Client } from '../../../entities/client.ts';
import { Site } from '../../../entities/site.ts';
import { pickDefined, tables } from '../../db/kysely.ts';
import type { ListStream } from '../../db/list-stream.ts';
import { afterCursor, type CursorPageRequest, type PageRequest, readPage } from '../../db/pagination.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, requireClientAdmin, requireLister } from '../access/actor.ts';
import { openListStream } from '../access/open-list-stream.ts';
import { clientVisibleTo } from '../access/visibility.ts';
import { diffColumns, isEmpty } from '../audit/audit.ts';
import type { Unit } from '../unit.ts';
import type { UserRow } from '../users/user-rows.ts';
import { type UserFilter, usersMatching } from '../users/user-rows.ts';
import { openUserList, type UserEncoder } from '../users/user-stream.ts';

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
export type ClientChanges = {
  [K in (typeof CHANGEABLE)[number]]?: ClientRow[K] | undefined;
};

const CHANGEABLE = [
  'name',
  'default_from_email',
  'invitation_subject',
  'invitation_body',
  'login_title',
  'login_subtitle',
  'support_email',
  'home_location',
  'subtitle_404',
  'message_404',
  'subtitle_500',
  'message_500',
  'password_min_length',
  'password_allow_common',
  'password_require_numeric',
  'password_require_upper',
  'password_require_lower',
  'password_require_special',
  'password_expiration_days',
] as const;

type Deps = Pick<Unit, 'em' | 'audit' | 'readRows'>;

export const createClients = ({ em, audit, readRows }: Deps) => ({
  list: (actor: Actor, part: CursorPageRequest): Promise<ClientRow[]> =>
    readPage(afterCursor(visibleClients(em, actor), 'clients.id', part.cursor), 'clients.id', part),

  /** @throws Problem `not-found` */
  get: (actor: Actor, id: number): Promise<ClientRow> => readClient(em, actor, id),

  /** @throws Problem `not-found`, `forbidden`, `invalid-input` on `name` */
  update: (actor: Actor, id: number, changes: ClientChanges): Promise<ClientRow> =>
    em.transactional(async (tx) => {
      const before = await visibleClients(tx, actor)
        .where('clients.id', '=', id)
        .forNoKeyUpdate('clients')
        .executeTakeFirst();
      if (!before) throw notFound('client');
      requireClientAdmin(actor, id);
      const defined = pickDefined(changes);
      if (!defined) return before;

      await tables(tx).updateTable('clients').set(defined).where('id', '=', id).execute();
      const after = await readClient(tx, actor, id);
      const details = diffColumns(before, after, CHANGEABLE);
      const event = { actor, target: after.name, clients: [id], details };
      if (!isEmpty(details)) await audit.record(tx, [{ action: 'client.update', ...event }]);
      return after;
    }),

  /** @throws Problem `not-found`, `invalid-input` on `cursor` */
  users: async (actor: Actor, id: number, filter: UserFilter, part: PageRequest): Promise<UserRow[]> =>
    readPage(await usersOfClient(em, actor, id, filter), 'users.id', part),

  /**
   * Streams the whole list of `users`.
   * @throws Problem as `users`
   */
  streamUsers: (actor: Actor, id: number, filter: UserFilter, encoder: UserEncoder): Promise<ListStream> => {
    const open = async (reader: Actor) => {
      requireLister(reader);
      const users = await usersOfClient(em, reader, id, filter);
      return openUserList({ viewer: reader, users, encoder, key: 'memberships' });
    };
    return openListStream({ em, readRows, actor, open });
  },

  /** @throws Problem `invalid-input` on `name`, `site` */
  create: (actor: Actor, input: { name: string; site: number }): Promise<ClientRow> =>
    em.transactional(async (tx) => {
      const site = tx.getReference(Site, input.site);
      const client = tx.create(Client, { name: input.name, site, ...defaultBranding(input.name) });
      await tx.flush();
      const details = { id: client.id, site: input.site };
      const event = { actor, target: client.name, clients: [client.id], details };
      await audit.record(tx, [{ action: 'client.create', ...event }]);
      return readClient(tx, actor, client.id);
    }),
});

const usersOfClient = async (em: SqlEntityManager, actor: Actor, id: number, filter: UserFilter) => {
  await readClient(em, actor, id);
  const rows = await usersMatching(em, actor, filter);
  const members = rows
    .innerJoin('memberships', 'memberships.user_id', 'users.id')
    .where('memberships.client_id', '=', id);
  return members as unknown as typeof rows; // callers select no columns of the joined table
};

const visibleClients = (em: SqlEntityManager, actor: Actor) =>
  tables(em)
    .selectFrom('clients')
    .innerJoin('sites', 'sites.id', 'clients.site_id')
    .select(['clients.id', 'sites.domain as site_domain'])
    .select(CHANGEABLE.map((column) => `clients.${column}` as const))
    .where(clientVisibleTo(actor, sql`clients.id`))
    .orderBy('clients.id');

export type ClientRow = Awaited<ReturnType<ReturnType<typeof visibleClients>['execute']>>[number];

/** @throws Problem `not-found`, also for a client the actor may not see */
export const readClient = async (em: SqlEntityManager, actor: Actor, id: number): Promise<ClientRow> => {
  const row = await visibleClients(em, actor).where('clients.id', '=', id).executeTakeFirst();
  if (!row) throw notFound('client');
  return row;
};
