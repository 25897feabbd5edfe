import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { OutboxMail } from '../../../entities/outbox-mail.ts';
import { problemOfDatabaseError } from '../../db/database-errors.ts';
import { tables } from '../../db/kysely.ts';
import type { ListStream } from '../../db/list-stream.ts';
import { countRows, type PageRequest, readPage } from '../../db/pagination.ts';
import { type FieldErrors, invalid, Problem, USER_EXISTS, userExists } from '../../lib/problems.ts';
import { tracing } from '../../lib/tracing.ts';
import { type Actor, administersClient, requireLister, soleAdminClient } from '../access/actor.ts';
import { openListStream } from '../access/open-list-stream.ts';
import { userVisibleTo } from '../access/visibility.ts';
import type { AuditEvent } from '../audit/audit.ts';
import type { Unit } from '../unit.ts';
import { findGrantable, grantApps, grantEvents, joinClients, unknownApp } from './app-grants.ts';
import { addUser } from './new-user.ts';
import type { UserChanges } from './update-plan.ts';
import { findUsers, type Listing } from './user-listing.ts';
import { deactivateUser, lockUser } from './user-locks.ts';
import { readUser, type UserRow } from './user-rows.ts';
import { openUserList, type UserEncoder } from './user-stream.ts';
import { updateInTransaction } from './user-update.ts';

export type UserInput = {
  email: string;
  first_name: string;
  last_name: string;
  extra: Record<string, unknown>;
  is_demo_user: boolean;
  apps: string[];
  client?: number | undefined;
  send_email: boolean;
};

export const createUsers = ({ em, clock, audit, userLoader, readRows, appOrder, duplicateLimit }: Unit) => ({
  /** @throws Problem `not-found` if the actor may not see the app or client, `invalid-input` on `cursor`, `sort` */
  list: async (actor: Actor, filter: Listing, part: PageRequest): Promise<UserRow[]> => {
    if (part.limit === undefined && part.page === undefined) requireUnsorted(filter);
    return readPage((await findUsers(em, actor, filter, clock.now())).users, 'users.id', part);
  },

  /** @throws Problem `not-found` if the actor may not see the app or client */
  count: async (actor: Actor, filter: Listing): Promise<number> =>
    countRows((await findUsers(em, actor, filter, clock.now())).users),

  /**
   * Streams the whole list.
   * @throws Problem as `list`
   */
  stream: (actor: Actor, filter: Listing, encoder: UserEncoder): Promise<ListStream> => {
    const open = async (viewer: Actor) => {
      requireLister(viewer);
      requireUnsorted(filter);
      return openUserList({
        viewer,
        appOrder,
        encoder,
        ...(await findUsers(em, viewer, filter, clock.now())),
      });
    };
    return openListStream({ em, readRows, actor, open });
  },

  /** @throws Problem `not-found` */
  get: (actor: Actor, email: string): Promise<UserRow> => userLoader.load(actor, email),

  /**
   * Creates a user without a password, and enqueues the mail to set one if requested.
   * @throws Problem `user-exists`, `invalid-input` on `apps`, `client`, `throttled` as `duplicateLimit`
   */
  create: (actor: Actor, input: UserInput): Promise<UserRow> => {
    const creation = em.transactional(async (tx) => {
      await duplicateLimit.check(tx, actor.id);
      const { apps, clients } = await resolveTargets(tx, actor, input);
      const now = clock.now();
      const { email, first_name: firstName, last_name: lastName, extra, is_demo_user: isDemoUser } = input;
      const user = await addUser(tx, { email, firstName, lastName, extra, isDemoUser }, now);
      if (input.send_email) {
        const mail = { user, recipient: email, createdAt: now, nextAttemptAt: now };
        tx.create(OutboxMail, { kind: 'password-setup', traceparent: tracing.traceparent(), ...mail });
      }
      await tx.flush();
      await joinClients(tx, user.id, clients);
      await grantApps(tx, user.id, apps);
      const event: AuditEvent = { action: 'user.create', actor, target: user.email, clients: [...clients] };
      await audit.record(tx, [event, ...grantEvents(actor, user.email, apps)]);
      await duplicateLimit.check(tx, actor.id);
      return readUser(tx, actor, user.email);
    });
    return creation.catch((error: unknown) => {
      if (problemOfDatabaseError(error)?.code !== 'user-exists') throw error;
      throw new Problem('user-exists', { fields: USER_EXISTS, revealed: input.email, cause: error });
    });
  },

  /**
   * @throws Problem `not-found`, `forbidden`, `client-admin-locked`, `self-modification`, `last-superuser`,
   * `precondition-failed`, `invalid-input` on `apps`
   */
  update: async (actor: Actor, email: string, changes: UserChanges): Promise<UserRow> =>
    (await updateInTransaction({ em, clock, audit }, actor, email, changes)).after,

  /** @throws Problem `not-found`, `forbidden`, `self-modification`, `last-superuser` */
  deactivate: (actor: Actor, email: string): Promise<void> =>
    em.transactional(async (tx) => {
      const locked = await lockUser(tx, actor, email);
      const wasActive = await deactivateUser(tx, actor, locked, clock.now());
      if (!wasActive) return;
      const { clientIds: clients } = locked;
      await audit.record(tx, [{ action: 'user.deactivate', actor, target: email, clients }]);
    }),
});

/** Whole lists are streamed in the order of ids, which no change of a user moves. @throws Problem `invalid-input` on `sort` */
const requireUnsorted = ({ sort }: Listing): void => {
  if (sort !== undefined) throw invalid({ sort: ['Requires `limit`, `page` or `page_size`.'] });
};

/**
 * Resolves the apps and clients of a new user: the clients of the apps, and the given client or else the actor's only one.
 * If that is none, the user joins the only client of the installation: callers of the replaced service send no client.
 * The unique constraint decides whether the address is free. A taken address is reported together with other errors only
 * if the actor may see its user: otherwise a failing request would reveal addresses of other clients.
 */
const resolveTargets = async (tx: SqlEntityManager, actor: Actor, input: UserInput) => {
  if (input.client !== undefined && !administersClient(actor, input.client)) {
    throw invalid({ client: [`There is no client ${input.client} to which you may add users.`] });
  }
  const fields: FieldErrors = {};
  const { apps, unknown } = await findGrantable(tx, actor, input.apps);
  if (unknown.length > 0) fields.apps = unknown.map(unknownApp);
  const taken = await isTaken(tx, actor, input.email);

  const clients = new Set(apps.map((app) => app.client_id));
  const own = input.client ?? soleAdminClient(actor);
  if (own !== undefined) clients.add(own);
  if (clients.size === 0 && unknown.length === 0) {
    const only = await findOnlyClient(tx);
    if (only === undefined) fields.client = [CLIENT_REQUIRED];
    else clients.add(only);
  }
  if (taken) throw userExists(fields);
  if (Object.keys(fields).length > 0) throw invalid(fields);
  return { apps, clients };
};

const CLIENT_REQUIRED =
  'There are several clients. Send `client`, the id of the one to join (GET /api/v1/jb/clients/ lists them), or `apps`, ids of its apps.';

const findOnlyClient = async (tx: SqlEntityManager): Promise<number | undefined> => {
  const [first, second] = await tables(tx).selectFrom('clients').select('id').limit(2).execute();
  return second === undefined ? first?.id : undefined;
};

const isTaken = async (tx: SqlEntityManager, actor: Actor, email: string): Promise<boolean> => {
  const holder = tables(tx).selectFrom('users').select('id').where('email', '=', email);
  return (await holder.where(userVisibleTo(actor)).executeTakeFirst()) !== undefined;
};
