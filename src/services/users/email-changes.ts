import { LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { OutboxMail } from '../../../entities/outbox-mail.ts';
import { EmailChange, User } from '../../../entities/user.ts';
import { problemOfDatabaseError } from '../../db/database-errors.ts';
import { clientIdsOf, condition, type Em, kysely } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { invalid, Problem, USER_EXISTS } from '../../lib/problems.ts';
import {
  type Actor,
  profileUpdateRefusal,
  proofOf,
  requireConfirmedSession,
  requirementOf,
  type TargetRoles,
  userAdminRefusal,
} from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import { can } from '../access/permissions.ts';
import { isOutsideSharedTime, type Viewer } from '../access/visibility.ts';
import { deleteRecoveryCodes } from '../auth/one-time-codes.ts';
import { type EmailLinkKind, parseLinkToken } from '../auth/signed-links.ts';
import { enqueueEmailMail, newMail } from '../mail/enqueue-mails.ts';
import { supersedeRoles } from '../operations/operation-log.ts';
import { findReservedDomains, requireUnreserved } from '../sso/reserved-addresses.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { endAccess, endAllAccess } from './account-access.ts';
import { changeAddress, disownAddresses, endUndo, releaseAddresses } from './address-change.ts';
import { lockActiveUser, lockUser, usersWithRoles } from './user-locks.ts';
import { readUser, type UserDetail } from './user-rows.ts';

/** Hours for which the link to the new address is valid. */
export const CONFIRM_HOURS = 24;

/** SQL over the alias `change`: until when it can be confirmed. */
export const confirmationEnds = sql<Date>`change.requested_at + ${CONFIRM_HOURS}::int * interval '1 hour'`;

const REQUESTS_PER_HOUR = 5;

/** Changes of the addresses by which people log in and get mail. */
export const createEmailChanges = (unit: UnitOfWork) => {
  const { em, clock, audit, links, origin, duplicateLimit, emailChangeLimit } = unit;

  /** @throws Problem `invalid-link` if it is forged, used, replaced or expired, or the user is inactive */
  const findLink = async (kind: EmailLinkKind, token: string) => {
    const parsed = parseLinkToken(token);
    if (!parsed) throw new Problem('invalid-link');
    const link = await linkRows(em, kind, clock.now()).where('change.id', '=', parsed.id).executeTakeFirst();
    if (!link || !links.isEmailLinkSigned(kind, link, parsed.signature)) throw new Problem('invalid-link');
    return link;
  };

  /** Locks the user of a link that is still valid. @throws Problem `invalid-link` */
  const lockLinked = async (tx: Em, kind: EmailLinkKind, { id, userId }: { id: number; userId: number }) => {
    const user = await tx.findOne(User, userId, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });
    // Only one of several concurrent uses still finds the link.
    const link = await linkRows(tx, kind, clock.now()).where('change.id', '=', id).executeTakeFirst();
    if (!user || !link) throw new Problem('invalid-link');
    return user;
  };

  /** Replaces earlier requests. */
  const addRequest = async (tx: Em, actor: Actor, { user, to, ipAddress }: Request): Promise<void> => {
    await deleteRequests(tx, user.id).execute();
    const now = clock.now();
    const change = tx.create(EmailChange, {
      user: tx.getReference(User, user.id),
      ...{ oldEmail: user.email, newEmail: to, requestedAt: now, requestedBy: actor.id },
      isOwn: user.id === actor.id,
    });
    await tx.flush();
    const mail = { userId: user.id, changeId: change.id, recipient: to, now, address: ipAddress };
    await enqueueEmailMail(tx, 'email-confirmation', mail);
    const clients = await clientIdsOf(tx, user.id);
    await audit.record(tx, [{ action: 'user.request-email', actor, target: user.email, clients }]);
  };

  /** The caller holds the lock of the user. */
  const cancelRequests = async (tx: Em, actor: Actor, user: Request['user'], clients: number[]) => {
    const visible = deleteRequests(tx, user.id).where(isRequestVisibleTo(actor)).returning('change.id');
    if ((await visible.execute()).length === 0) return;
    await audit.record(tx, [{ action: 'user.cancel-email', actor, target: user.email, clients }]);
  };

  const requestForUser = async (actor: Actor, email: string, to: string): Promise<UserDetail> => {
    return em.transactional(async (tx) => {
      const { user } = await lockUser(tx, actor, email, requireEmailAdmin);
      if (to === user.email) throw invalid({ new_email: [SAME_ADDRESS] });
      if (!user.isActive) throw new Problem('account-inactive');
      await requireUnreserved(tx, actor, to, 'new_email');
      await emailChangeLimit.add(actor.id);
      await addRequest(tx, actor, { user, to, ipAddress: null });
      return readUser(tx, actor, email);
    });
  };

  return {
    /**
     * Mails a link to the new address. No lookup of it happens here, so that neither the response nor its timing reveals whether it
     * has an account.
     * @throws Problem `reauthentication-required`, `throttled`, `invalid-input` on `email`
     */
    request: async (actor: Actor, to: string): Promise<void> => {
      requireConfirmedSession(actor, clock.now());
      if (to === actor.email) throw invalid({ email: [SAME_ADDRESS] });
      await emailChangeLimit.add(actor.id);
      await em.transactional(async (tx) => {
        if (!(await lockActiveUser(tx, actor.id))) throw new Problem('unauthenticated');
        await addRequest(tx, actor, { user: actor, to, ipAddress: origin.address });
      });
    },

    /**
     * The address of the account that the holder of the mailbox knows, the one that it would get, and whether the actor must log in before.
     * @throws Problem `invalid-link`
     */
    verify: async (actor: Actor | null, kind: EmailLinkKind, token: string) => {
      const link = await findLink(kind, token);
      if (kind === 'confirm' && !(await isStillAllowed(em, link))) throw new Problem('invalid-link');
      const needs_login = kind === 'confirm' && link.isOwn && actor?.id !== link.userId;
      // The old mailbox need not belong to the person any more.
      return { email: kind === 'undo' ? link.to : link.email, new_email: link.to, needs_login };
    },

    /**
     * Changes the address as the link to the new one says. If that is taken by now, the link stays valid. A change that a client
     * admin requested hands the account over. A person's own change requires their login: otherwise a mistyped address would give
     * the account to its owner. If a provider can log in to the account, and this login may be its, all else with which someone can log
     * in ends: the provider decides to which account it leads a person, and could have prepared it.
     * @throws Problem `invalid-link`, `login-required`, `user-exists`
     */
    confirm: async (actor: Actor | null, token: string): Promise<void> => {
      const link = await findLink('confirm', token);
      if (link.isOwn && actor?.id !== link.userId)
        throw new Problem('login-required', { detail: OWN_CHANGE });
      const change = em.transactional(async (tx) => {
        const user = await lockLinked(tx, 'confirm', link);
        if (!(await isStillAllowed(tx, link))) throw new Problem('invalid-link');
        const { to, id: requestId, isOwn } = link;
        const ipAddress = isOwn ? origin.address : null;
        const about = { user, to, actor: { email: user.email }, requestId, ipAddress };
        const [action, now] = ['user.change-email', clock.now()] as const;
        const notice = isOwn ? 'undo' : 'plain';
        await changeAddress({ tx, now, audit }, { ...about, action, notice, isConfirmed: true });
        if (!isOwn) {
          // An admin can lead an account through addresses of others, whose mailboxes confirm it with a click.
          await disownAddresses(tx, user.id);
          return handOver(tx, user, now);
        }
        if (!(await isOfProvider(tx, user.id)) || isByPassword(actor)) return;
        await endAllAccess(tx, user.id, now, actor?.credential?.kind === 'session' ? actor.credential : null);
        await lockAccessChange(tx, user.id, null);
      });
      await change.catch(rethrowAsTaken('email'));
    },

    /**
     * Gives the account its old address back, and ends all access to it: it may be in foreign hands.
     * @throws Problem `invalid-link`, `user-exists`
     */
    undo: async (token: string): Promise<void> => {
      const link = await findLink('undo', token);
      const undo = em.transactional(async (tx) => {
        const user = await lockLinked(tx, 'undo', link);
        const about = { user, to: link.to, actor: { email: link.to }, ipAddress: null };
        const kind = { action: 'user.undo-email', notice: 'none', isConfirmed: true } as const;
        await changeAddress({ tx, now: clock.now(), audit }, { ...about, ...kind });
        // Of this change and later ones: a thief who changed the address twice must not end the link of the owner.
        await kysely(tx)
          .updateTable('email_changes')
          .set({ undo_until: null })
          .where('user_id', '=', user.id)
          .where('id', '>=', link.id)
          .execute();
        // The addresses that the account had in between, which the changes after it name as the old ones, may be those of others.
        await disownAddresses(tx, user.id, link.id);
        // The thief may know the password, and have added a passkey.
        await endAccess(tx, user.id, clock.now());
        await deleteFactorsSince(tx, user.id, new Date(link.requestedAt.getTime() - DAY_MS));
        await lockAccessChange(tx, user.id, null);
      });
      await undo.catch(rethrowAsTaken('email'));
    },

    /**
     * Changes the address of a person whom only the actor administers, and hands the account over: by a superuser at once. A client
     * admin could take an address whose owner has nothing to do with the client: the mailbox must confirm it. No lookup of the new address happens then.
     * @throws Problem `not-found`, `forbidden`, `shared-user`, `client-admin-locked`, `self-modification`,
     * `reauthentication-required`, `user-exists`, `invalid-input` on `new_email`, `throttled` as `duplicateLimit`
     */
    changeForUser: async (actor: Actor, email: string, to: string): Promise<UserDetail> => {
      requireConfirmedSession(actor, clock.now());
      if (!can(actor, 'administer')) return requestForUser(actor, email, to);
      const change = em.transactional(async (tx) => {
        await duplicateLimit.check(tx, actor.id);
        const { user } = await lockUser(tx, actor, email, requireEmailAdmin);
        if (to === user.email) throw invalid({ new_email: [SAME_ADDRESS] });
        await deleteRequests(tx, user.id).execute();
        const about = { user, to, actor, action: 'user.change-email', ipAddress: null } as const;
        const now = clock.now();
        await changeAddress({ tx, now, audit }, { ...about, notice: 'plain', isConfirmed: false });
        await handOver(tx, user, now);
        await duplicateLimit.check(tx, actor.id);
        return readUser(tx, actor, to);
      });
      return change.catch(rethrowAsTaken('new_email', to));
    },

    /**
     * Ends the change that a person, or an admin, has requested and that is not confirmed yet.
     * @throws Problem `not-found`, `forbidden`, `shared-user`
     */
    cancel: (actor: Actor, email: string): Promise<void> =>
      em.transactional(async (tx) => {
        const { user, clientIds } = await lockUser(tx, actor, email);
        await cancelRequests(tx, actor, user, clientIds);
      }),

    /** One's own change that waits for a confirmation; null if there is none. */
    pending: (actor: Actor) => readPendingChange(em, actor, actor.id, clock.now()),

    /** Ends one's own change that waits for a confirmation. @throws Problem `unauthenticated` */
    cancelOwn: (actor: Actor): Promise<void> =>
      em.transactional(async (tx) => {
        if (!(await lockActiveUser(tx, actor.id))) throw new Problem('unauthenticated');
        await cancelRequests(tx, actor, actor, await clientIdsOf(tx, actor.id));
      }),
  };
};

/**
 * Gives an account to the holder of its new mailbox, who may be another person: ends all access of the holder of the old one, and mails a
 * link to set a new password.
 */
const handOver = async (tx: Em, user: User, now: Date): Promise<void> => {
  await endUndo(tx, user.id);
  await releaseAddresses(tx, user.id);
  await supersedeRoles(tx, user.id);
  // An undo keeps the second factors: reading the old mailbox must not be enough to get around them.
  await endAllAccess(tx, user.id, now);
  // When others have deactivated the earlier holder is not for the new one.
  user.lastActivated = null;
  if (user.isActive) user.lastDeactivated = null;
  for (const table of ['external_identities', 'provider_links'] as const)
    await kysely(tx).deleteFrom(table).where('user_id', '=', user.id).execute();
  // Inactive people get a link when they are reactivated and ask for one.
  if (user.isActive)
    tx.create(OutboxMail, { kind: 'password-setup', user, recipient: user.email, ...newMail(now) });
  await tx.flush();
  await lockAccessChange(tx, user.id, null);
};

/** Whether a provider could ever log in to the account. */
const isOfProvider = async (tx: Em, userId: number): Promise<boolean> => {
  const links = kysely(tx).selectFrom('provider_links').select('user_id').where('user_id', '=', userId);
  return (await links.limit(1).executeTakeFirst()) !== undefined;
};

/**
 * Whether this is a session that began with the password, without a provider. Of a token this is not known, and a session of a provider may
 * have added a passkey.
 */
const isByPassword = (actor: Actor | null): boolean => {
  const methods = (actor && proofOf(actor)?.methods) ?? [];
  return actor?.credential?.kind === 'session' && methods.includes('pwd') && !methods.includes('sso');
};

/** Deletes the second factors that were added since then, with the recovery codes: whoever added them knew the same as who changed the address. */
const deleteFactorsSince = async (tx: Em, userId: number, since: Date): Promise<void> => {
  const factors = kysely(tx).deleteFrom('mfa_factors').where('user_id', '=', userId);
  const { numDeletedRows } = await factors.where('created_at', '>=', since).executeTakeFirst();
  if (numDeletedRows > 0n) await deleteRecoveryCodes(tx, userId);
};

type Request = { user: { id: number; email: string }; to: string; ipAddress: string | null };

const OWN_CHANGE = 'Log in with your account to confirm its new address.';

const SAME_ADDRESS = 'This is the address already.';

const OWN_ADDRESS = {
  detail: 'Change your own address with POST /api/v1/jb/profile/email/, which mails a link to the new one.',
};

type LinkedChange = { userId: number; to: string; isOwn: boolean; requestedBy: number | null };

/** Whether someone else who requested a change still may: the person may have got clients or roles since then, or the address is reserved. */
const isStillAllowed = async (db: Em, { userId, to, isOwn, requestedBy }: LinkedChange): Promise<boolean> => {
  if (isOwn) return true;
  const requester = usersWithRoles(db)
    .where('users.id', '=', requestedBy)
    .where('users.is_active', '=', true);
  const actor = await requester.executeTakeFirst();
  const person = await usersWithRoles(db).where('users.id', '=', userId).executeTakeFirstOrThrow();
  if (actor === undefined) return false;
  const requesting = { ...actor, credential: null };
  if (emailAdminRefusal(requesting, person) !== null) return false;
  return (await findReservedDomains(db, requesting, [to])).size === 0;
};

/** Why the actor may not change the address of this user; null if they may. */
const emailAdminRefusal = (actor: Actor, user: TargetRoles): Problem | null => {
  if (user.id === actor.id) return new Problem('self-modification', OWN_ADDRESS);
  return can(actor, 'administer') ? userAdminRefusal(actor, user) : profileUpdateRefusal(actor, user);
};

/** @throws Problem `self-modification`, `forbidden`, `shared-user`, `client-admin-locked` */
const requireEmailAdmin = requirementOf(emailAdminRefusal);

/** @param revealed the address, if the caller has not shown that it is theirs */
const rethrowAsTaken =
  (field: string, revealed?: string) =>
  (error: unknown): never => {
    if (problemOfDatabaseError(error)?.code !== 'user-exists') throw error;
    const fields = { [field]: USER_EXISTS.email ?? [] };
    throw new Problem('user-exists', { fields, cause: error, ...(revealed !== undefined && { revealed }) });
  };

/** Deletes the changes of a user that were requested and not made. Their links end. */
const deleteRequests = (tx: Em, userId: number) =>
  kysely(tx)
    .deleteFrom('email_changes as change')
    .where('change.user_id', '=', userId)
    .where('change.changed_at', 'is', null);

/** SQL: whether the viewer may see a change that was requested: not one that another client of the time has requested, or the person. */
const isRequestVisibleTo = (viewer: Viewer) => condition`
  (change.requested_by = ${viewer.id} or ${isOutsideSharedTime(viewer, sql`change.user_id`, sql`change.requested_at`)})`;

/** The change of a user that waits for a confirmation, and until when it can be confirmed. Null if its link has ended. */
export const readPendingChange = async (em: Em, viewer: Viewer, userId: number, now: Date) => {
  const pending = await kysely(em)
    .selectFrom('email_changes as change')
    .leftJoin('users as requester', 'requester.id', 'change.requested_by')
    .select(['change.new_email', 'change.requested_at', 'requester.email as requested_by'])
    .select(['change.is_own', 'change.requested_by as requester_id', confirmationEnds.as('ends_at')])
    .where('change.user_id', '=', userId)
    .where('change.changed_at', 'is', null)
    .where(confirmationEnds, '>', now)
    .where(isRequestVisibleTo(viewer))
    .executeTakeFirst();
  if (!pending) return null;
  const { is_own: isOwn, requester_id: requestedBy, ...change } = pending;
  if (!(await isStillAllowed(em, { userId, to: change.new_email, isOwn, requestedBy }))) return null;
  return change;
};

/**
 * SQL: whether the person has joined a client since the change, or got access to one again, also one that they have left since. An undo must
 * not give to the old mailbox what they have or did there. Roles end the undo themselves: see `endUndo`.
 */
const HAS_JOINED_SINCE = condition`(coalesce(users.last_left > change.changed_at, false) or exists (
  select from memberships m where m.user_id = change.user_id and greatest(m.joined_at, m.reactivated_at) > change.changed_at))`;

/** The changes whose link of this kind is valid. `to`: the address that it gives to the account. */
const linkRows = (em: Em, kind: EmailLinkKind, now: Date) => {
  const rows = kysely(em)
    .selectFrom('email_changes as change')
    .innerJoin('users', 'users.id', 'change.user_id')
    .select(['change.id', 'change.user_id as userId', 'change.requested_at as requestedAt', 'users.email'])
    .select(['change.is_own as isOwn', 'change.requested_by as requestedBy'])
    .select(kind === 'confirm' ? 'change.new_email as to' : 'change.old_email as to');
  if (kind === 'undo')
    return (
      rows
        .where('change.undo_until', '>', now)
        .whereRef('users.email', '<>', 'change.old_email')
        // As long as the mailbox of before can undo the change that led to this address, it alone decides.
        .where(
          condition`not exists (select from email_changes led where led.user_id = change.user_id and led.id < change.id
          and led.new_email = change.old_email and led.undo_until > ${now}::timestamptz)`,
        )
        .where(condition`not ${HAS_JOINED_SINCE}`)
    );
  return rows
    .where('change.changed_at', 'is', null)
    .where(confirmationEnds, '>', now)
    .where('users.is_active', '=', true);
};

/** Limits the mails that a user can send to any address. */
export const EMAIL_CHANGE_LIMIT = {
  prefix: 'email-change',
  perHour: REQUESTS_PER_HOUR,
  detailOf: (): string => `You have requested ${REQUESTS_PER_HOUR} changes of your address within an hour.`,
};
