import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { OutboxMail } from '../../../entities/outbox-mail.ts';
import { tables } from '../../db/kysely.ts';
import type { ListStream } from '../../db/list-stream.ts';
import { type PageRequest, readPage } from '../../db/pagination.ts';
import { type FieldErrors, invalid, userExists } from '../../lib/problems.ts';
import { type Actor, administersClient, requireLister, soleAdminClient } from '../access/actor.ts';
import { openListStream } from '../access/open-list-stream.ts';
import { userVisibleTo } from '../access/visibility.ts';
import { requireViewableAppId } from '../apps/app-rows.ts';
import type { AuditEvent } from '../audit/audit.ts';
import type { Unit } from '../unit.ts';
import { findGrantable, grantApps, grantEvents, joinClients, unknownApp } from './app-grants.ts';
import { addUser } from './new-user.ts';
import type { UserChanges } from './update-plan.ts';
import { deactivateUser, lockUser } from './user-locks.ts';
import { readUser, type UserFilter, type UserRow, usersMatching } from './user-rows.ts';
import { openUserList, type UserEncoder } from './user-stream.ts';
import { updateUser } from './user-update.ts';

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

type AppUserFilter = UserFilter & { app?: string | undefined };

type Deps = Pick<Unit, 'em' | 'clock' | 'audit' | 'userLoader' | 'readRows'>;

export const createUsers = ({ em, clock, audit, userLoader, readRows }: Deps) => ({
  /** @throws Problem `not-found` if the actor may not see an app of this slug, `invalid-input` on `cursor` */
  list: async (actor: Actor, filter: AppUserFilter, part: PageRequest): Promise<UserRow[]> =>
    readPage(await visibleUsers(em, actor, filter), 'users.id', part),

  /**
   * Streams the whole list.
   * @throws Problem as `list`
   */
  stream: (actor: Actor, filter: AppUserFilter, encoder: UserEncoder): Promise<ListStream> => {
    const key = filter.app === undefined ? 'users' : 'app_grants';
    const open = async (reader: Actor) => {
      requireLister(reader);
      const users = await visibleUsers(em, reader, filter);
      return openUserList({ viewer: reader, users, encoder, key });
    };
    return openListStream({ em, readRows, actor, open });
  },

  /** Starts reading a user whom `get` is expected to request. */
  prefetchGet: (email: string): void => userLoader.prefetch(email),

  /** @throws Problem `not-found` */
  get: (actor: Actor, email: string): Promise<UserRow> => userLoader.load(actor, email),

  /**
   * Creates a user without a password, and enqueues the mail to set one if requested.
   * @throws Problem `user-exists`, `invalid-input` on `apps`, `client`
   */
  create: (actor: Actor, input: UserInput): Promise<UserRow> =>
    em.transactional(async (tx) => {
      const { apps, clients } = await resolveTargets(tx, actor, input);
      const now = clock.now();
      const { email, first_name: firstName, last_name: lastName, extra, is_demo_user: isDemoUser } = input;
      const user = await addUser(tx, { email, firstName, lastName, extra, isDemoUser }, now);
      if (input.send_email) {
        const mail = {
          kind: 'password-setup',
          recipient: email,
          createdAt: now,
          nextAttemptAt: now,
        } as const;
        tx.create(OutboxMail, { ...mail, user });
      }
      await tx.flush();
      await joinClients(tx, user.id, clients);
      await grantApps(tx, user.id, apps);
      const event: AuditEvent = { action: 'user.create', actor, target: user.email, clients: [...clients] };
      await audit.record(tx, [event, ...grantEvents(actor, user.email, apps)]);
      return readUser(tx, actor, user.email);
    }),

  /**
   * @throws Problem `not-found`, `forbidden`, `client-admin-locked`, `self-modification`, `last-superuser`,
   * `invalid-input` on `apps`
   */
  update: (actor: Actor, email: string, changes: UserChanges): Promise<UserRow> =>
    em.transactional((tx) => updateUser({ tx, now: clock.now(), audit }, actor, email, changes)),

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

const visibleUsers = async (em: SqlEntityManager, actor: Actor, filter: AppUserFilter) => {
  const rows = (await usersMatching(em, actor, filter)).where(userVisibleTo(actor));
  if (filter.app === undefined) return rows;
  const appId = await requireViewableAppId(em, actor, filter.app);
  const ofApp = rows
    .innerJoin('app_grants', 'app_grants.user_id', 'users.id')
    .where('app_grants.app_id', '=', appId);
  return ofApp as unknown as typeof rows; // callers select no columns of the joined table
};

/**
 * Resolves the apps and clients of a new user: the clients of the apps, and the given client or else the actor's only one.
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
    fields.client = ['`client` is required.'];
  }
  if (taken) throw userExists(fields);
  if (Object.keys(fields).length > 0) throw invalid(fields);
  return { apps, clients };
};

const isTaken = async (tx: SqlEntityManager, actor: Actor, email: string): Promise<boolean> => {
  const holder = tables(tx).selectFrom('users').select('id').where('email', '=', email);
  return (await holder.where(userVisibleTo(actor)).executeTakeFirst()) !== undefined;
};
