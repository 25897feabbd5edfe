import { sql } from 'kysely';
import { OutboxMail } from '../../../entities/outbox-mail.ts';
import { EmailChange, User } from '../../../entities/user.ts';
import { problemOfDatabaseError } from '../../db/database-errors.ts';
import { clientIdsOf, condition, type Em, kysely } from '../../db/kysely.ts';
import { invalid, Problem, USER_EXISTS } from '../../lib/problems.ts';
import { DIRECTORY_SCOPE } from '../access/action-scopes.ts';
import {
  type Actor,
  accountUpdateRefusal,
  requireConfirmedCredential,
  requireConfirmedSession,
  requirementOf,
  type TargetRoles,
  userAdminRefusal,
} from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import { adminOf, can } from '../access/permissions.ts';
import { EVERYWHERE } from '../access/scope.ts';
import { endUndo } from '../accounts/access-ends.ts';
import { actingUsers, lockActiveUser, lockUser, usersWithRoles } from '../accounts/user-locks.ts';
import { readUser, type UserDetail } from '../accounts/user-rows.ts';
import { ofUser, type Transaction } from '../audit/audit.ts';
import { endWaysIn } from '../auth/ways-in.ts';
import { enqueueEmailMail, newMail } from '../outbox/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { changeAddress } from './address-change.ts';

/** Hours for which the link to the new address is valid. */
export const CONFIRM_HOURS = 24;

/** SQL over the alias `change`: until when it can be confirmed. */
export const confirmationEnds = sql<Date>`change.requested_at + ${CONFIRM_HOURS}::int * interval '1 hour'`;

const REQUESTS_PER_HOUR = 5;

/** Changes of the addresses by which people log in and get mail. A mailbox must confirm them. */
export const createEmailChanges = (unit: UnitOfWork) => {
  const { em, clock, audit, origin, emailChangeLimit } = unit;

  /** The caller holds the lock of the user. */
  const cancelRequests = async (tx: Em, actor: Actor, user: Request['user'], clients: number[]) => {
    const visible = deleteRequests(tx, user.id).returning('change.id');
    if ((await visible.execute()).length === 0) return;
    await audit.record(tx, [{ action: 'user.cancel-email', actor, target: ofUser(user), clients }]);
  };

  const requestForUser = async (actor: Actor, email: string, to: string): Promise<UserDetail> => {
    return em.transactional(async (tx) => {
      const { user } = await lockUser(tx, actor, email, requireEmailAdmin);
      if (to === user.email) throw invalid({ new_email: [SAME_ADDRESS] });
      if (!user.isActive) throw new Problem('account-inactive');
      await emailChangeLimit.add(actor.id);
      await requestAddress({ tx, now: clock.now(), audit }, actor, { user, to, ipAddress: null });
      return readUser(tx, actor, clock.now(), email);
    });
  };

  return {
    /**
     * Mails a link to the new address. The address is not looked up here, so that neither the response nor its timing reveals whether it
     * has an account.
     * @throws Problem `reauthentication-required`, `throttled`, `invalid-input` on `email`
     */
    request: async (actor: Actor, to: string): Promise<void> => {
      // A token, which may have limits, must not take over the account.
      requireConfirmedCredential(actor.credential, clock.now());
      if (to === actor.email) throw invalid({ email: [SAME_ADDRESS] });
      await emailChangeLimit.add(actor.id);
      await em.transactional(async (tx) => {
        if (!(await lockActiveUser(tx, actor.id))) throw new Problem('unauthenticated');
        const request = { user: actor, to, ipAddress: origin.address };
        await requestAddress({ tx, now: clock.now(), audit }, actor, request);
      });
    },

    /**
     * Changes the address of a person whose account is not shared. By a superuser: at once. By others: after the new mailbox has confirmed
     * it, and without a lookup of the address before.
     * @throws Problem `not-found`, `forbidden`, `shared-user`, `client-admin-locked`, `self-modification`, `reauthentication-required`,
     * `user-exists`, `invalid-input` on `new_email`
     */
    changeForUser: async (actor: Actor, email: string, to: string): Promise<UserDetail> => {
      requireConfirmedSession(actor, clock.now());
      if (!can(actor, 'administer')) return requestForUser(actor, email, to);
      const change = em.transactional(async (tx) => {
        const { user } = await lockUser(tx, actor, email, requireEmailAdmin);
        if (to === user.email) throw invalid({ new_email: [SAME_ADDRESS] });
        await deleteRequests(tx, user.id).execute();
        const about = { user, to, actor, action: 'user.change-email', ipAddress: null } as const;
        const now = clock.now();
        await changeAddress({ tx, now, audit }, { ...about, notice: 'plain' });
        await requireNewLogin(tx, user, now);
        return readUser(tx, actor, clock.now(), to);
      });
      return change.catch(rethrowAsTaken('new_email'));
    },

    /**
     * Cancels the unconfirmed change that a person, or an admin, has requested.
     * @throws Problem `not-found`, `forbidden`, `shared-user`
     */
    cancel: (actor: Actor, email: string): Promise<void> =>
      em.transactional(async (tx) => {
        const { user, clientIds } = await lockUser(tx, actor, email);
        await cancelRequests(tx, actor, user, clientIds);
      }),

    /** The actor's own unconfirmed change; null if there is none. */
    pending: (actor: Actor) => readPendingChange(em, actor.id, clock.now()),

    /** Cancels the actor's own unconfirmed change. @throws Problem `unauthenticated` */
    cancelOwn: (actor: Actor): Promise<void> =>
      em.transactional(async (tx) => {
        if (!(await lockActiveUser(tx, actor.id))) throw new Problem('unauthenticated');
        await cancelRequests(tx, actor, actor, await clientIdsOf(tx, actor.id));
      }),
  };
};

/** Ends every way to log in to an account that got another address, and mails a link to set a new password to that address. */
export const requireNewLogin = async (tx: Em, user: User, now: Date): Promise<void> => {
  await endUndo(tx, user.id);
  await endWaysIn(tx, user.id, now);
  // Inactive people get a link after they are reactivated and ask for one.
  if (user.isActive)
    tx.create(OutboxMail, { kind: 'password-setup', user, recipient: user.email, ...newMail(now) });
  await tx.flush();
  await lockAccessChange(tx, user.id, null);
};

type Request = { user: { id: number; email: string }; to: string; ipAddress: string | null };

/** Mails a link that confirms a new address of a locked user. Replaces earlier requests. */
export const requestAddress = async (
  { tx, now, audit }: Transaction,
  actor: Actor,
  { user, to, ipAddress }: Request,
): Promise<void> => {
  await deleteRequests(tx, user.id).execute();
  const change = tx.create(EmailChange, {
    user: tx.getReference(User, user.id),
    oldEmail: user.email,
    newEmail: to,
    requestedAt: now,
    requestedBy: actor.id,
  });
  await tx.flush();
  const mail = { userId: user.id, changeId: change.id, recipient: to, now, address: ipAddress };
  await enqueueEmailMail(tx, 'email-confirmation', mail);
  const clients = await clientIdsOf(tx, user.id);
  await audit.record(tx, [{ action: 'user.request-email', actor, target: ofUser(user), clients }]);
};

const SAME_ADDRESS = 'This is already the address.';

const OWN_ADDRESS = {
  detail: 'Change your own address with POST /api/v1/jb/profile/email/, which mails a link to the new one.',
};

type LinkedChange = { userId: number; requestedBy: number };

/** Whether an admin who requested a change may still make it: the person may have got clients or roles since then. */
export const isStillAllowed = async (db: Em, { userId, requestedBy }: LinkedChange) => {
  if (requestedBy === userId) return true;
  const requester = await findRequester(db, requestedBy);
  if (requester === undefined) return false;
  const person = await usersWithRoles(db).where('users.id', '=', userId).executeTakeFirstOrThrow();
  return emailAdminRefusal({ ...requester, credential: null, scope: EVERYWHERE }, person) === null;
};

/** An active user, or the directory of a client, which speaks for its admins. */
const findRequester = async (db: Em, id: number) => {
  const user = actingUsers(db).where('users.id', '=', id).where('users.is_active', '=', true);
  const directory = kysely(db)
    .selectFrom('service_accounts')
    .select('client_id')
    .where('user_id', '=', id)
    .where('is_active', '=', true)
    .where(condition`${DIRECTORY_SCOPE} = any(scopes)`);
  const { client_id: client = null } = (await directory.executeTakeFirst()) ?? {};
  return client === null ? user.executeTakeFirst() : { ...adminOf(client), id, email: '' };
};

/** Why the actor may not change the address of this user; null if they may. */
const emailAdminRefusal = (actor: Actor, user: TargetRoles): Problem | null => {
  if (user.id === actor.id) return new Problem('self-modification', OWN_ADDRESS);
  return can(actor, 'administer') ? userAdminRefusal(actor, user) : accountUpdateRefusal(actor, user);
};

/** @throws Problem `self-modification`, `forbidden`, `shared-user`, `client-admin-locked` */
const requireEmailAdmin = requirementOf(emailAdminRefusal);

/** Names the field of the input that contains the taken address. */
export const rethrowAsTaken =
  (field: string) =>
  (error: unknown): never => {
    const problem = error instanceof Problem ? error : problemOfDatabaseError(error);
    if (problem?.code !== 'user-exists') throw error;
    const { email: _, ...others } = problem.fields ?? {};
    const fields = { ...others, [field]: USER_EXISTS.email ?? [] };
    throw new Problem('user-exists', { fields, cause: error });
  };

/** Deletes the unconfirmed changes of a user, which invalidates their links. */
export const deleteRequests = (tx: Em, userId: number) =>
  kysely(tx)
    .deleteFrom('email_changes as change')
    .where('change.user_id', '=', userId)
    .where('change.changed_at', 'is', null);

/** The unconfirmed change of a user, and until when it can be confirmed. Null if its link has expired. */
export const readPendingChange = async (em: Em, userId: number, now: Date) => {
  const pending = await kysely(em)
    .selectFrom('email_changes as change')
    .leftJoin('users as requester', 'requester.id', 'change.requested_by')
    .select(['change.new_email', 'change.requested_at', 'requester.email as requested_by'])
    .select(['change.requested_by as requester_id', confirmationEnds.as('ends_at')])
    .where('change.user_id', '=', userId)
    .where('change.changed_at', 'is', null)
    .where(confirmationEnds, '>', now)
    .executeTakeFirst();
  if (!pending) return null;
  const { requester_id: requestedBy, ...change } = pending;
  if (!(await isStillAllowed(em, { userId, requestedBy }))) return null;
  return change;
};

/** Limits the mails that a user can send to any address. */
export const EMAIL_CHANGE_LIMIT = {
  prefix: 'email-change',
  perHour: REQUESTS_PER_HOUR,
  detailOf: (): string => `You have requested ${REQUESTS_PER_HOUR} changes of your address within an hour.`,
};
