import { LockMode } from '@mikro-orm/postgresql';
import { User } from '../../../entities/user.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import { type EmailLinkKind, parseLinkToken } from '../auth/signed-links.ts';
import { endWaysIn } from '../auth/ways-in.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { changeAddress } from './address-change.ts';
import { confirmationEnds, isStillAllowed, requireNewLogin, rethrowAsTaken } from './email-changes.ts';

/** The actions of the links that are mailed about a change of an address: the new address confirms it, the old one undoes it. */
export const createEmailLinks = (unit: UnitOfWork) => {
  const { em, clock, audit, links, origin } = unit;

  /** @throws Problem `invalid-link` if the link is forged, used, replaced or expired, or the user is inactive */
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

  return {
    /**
     * The address of the account as the holder of the mailbox may know it, the address that the link would set, and whether the actor must
     * log in first.
     * @throws Problem `invalid-link`
     */
    verify: async (actor: Actor | null, kind: EmailLinkKind, token: string) => {
      const link = await findLink(kind, token);
      if (kind === 'confirm' && !(await isStillAllowed(em, link))) throw new Problem('invalid-link');
      const needs_login = kind === 'confirm' && isOwn(link) && actor?.id !== link.userId;
      // The old mailbox may no longer belong to the person, so it must not learn the present address.
      return { email: kind === 'undo' ? link.to : link.email, new_email: link.to, needs_login };
    },

    /**
     * Sets the address in the link to the new mailbox; the use of the link proves the address. If the address is taken by now, the link
     * stays valid. A person's own change requires their login: otherwise, a mistyped address would give the account to its owner. If the
     * person is not logged in, all earlier ways to log in end.
     * @throws Problem `invalid-link`, `login-required`, `user-exists`
     */
    confirm: async (actor: Actor | null, token: string): Promise<void> => {
      const link = await findLink('confirm', token);
      const isPerson = actor?.id === link.userId;
      if (isOwn(link) && !isPerson) throw new Problem('login-required', { detail: OWN_CHANGE });
      const change = em.transactional(async (tx) => {
        const user = await lockLinked(tx, 'confirm', link);
        if (!(await isStillAllowed(tx, link))) throw new Problem('invalid-link');
        const now = clock.now();
        const about = { user, to: link.to, actor: { id: user.id, email: user.email }, requestId: link.id };
        const how = isOwn(link)
          ? ({ notice: 'undo', ipAddress: origin.address } as const)
          : ({ notice: 'plain', ipAddress: null } as const);
        await changeAddress({ tx, now, audit }, { ...about, ...how, action: 'user.change-email' });
        user.isEmailVerified = true;
        await tx.flush();
        if (!isPerson) await requireNewLogin(tx, user, now);
      });
      await change.catch(rethrowAsTaken('email'));
    },

    /**
     * Restores the old address of the account, and ends every way to log in: the account may be in the hands of a thief.
     * @throws Problem `invalid-link`, `user-exists`
     */
    undo: async (token: string): Promise<void> => {
      const link = await findLink('undo', token);
      const undo = em.transactional(async (tx) => {
        const user = await lockLinked(tx, 'undo', link);
        const about = { user, to: link.to, actor: { id: user.id, email: link.to }, ipAddress: null };
        const kind = { action: 'user.undo-email', notice: 'none' } as const;
        await changeAddress({ tx, now: clock.now(), audit }, { ...about, ...kind });
        user.isEmailVerified = true;
        await tx.flush();
        // The undo links of this change and of later ones: a thief who changed the address twice must not invalidate the link of the owner.
        await kysely(tx)
          .updateTable('email_changes')
          .set({ undo_until: null })
          .where('user_id', '=', user.id)
          .where('id', '>=', link.id)
          .execute();
        await endWaysIn(tx, user.id, clock.now());
        await lockAccessChange(tx, user.id, null);
      });
      await undo.catch(rethrowAsTaken('email'));
    },
  };
};

const OWN_CHANGE = 'Log in with your account to confirm its new address.';

/** Whether the person, not an admin, requested the change. */
const isOwn = ({ userId, requestedBy }: { userId: number; requestedBy: number }): boolean =>
  userId === requestedBy;

/** The changes whose link of this kind is valid. `to`: the address that it gives to the account. */
const linkRows = (em: Em, kind: EmailLinkKind, now: Date) => {
  const rows = kysely(em)
    .selectFrom('email_changes as change')
    .innerJoin('users', 'users.id', 'change.user_id')
    .select(['change.id', 'change.user_id as userId', 'change.requested_at as requestedAt', 'users.email'])
    .select('change.requested_by as requestedBy')
    .select(kind === 'confirm' ? 'change.new_email as to' : 'change.old_email as to');
  if (kind === 'undo')
    return (
      rows
        .where('change.undo_until', '>', now)
        .whereRef('users.email', '<>', 'change.old_email')
        // If an earlier address can still undo the change to this one, only the earlier address may undo.
        .where(
          condition`not exists (select from email_changes led where led.user_id = change.user_id and led.id < change.id
          and led.new_email = change.old_email and led.undo_until > ${now}::timestamptz)`,
        )
    );
  return rows
    .where('change.changed_at', 'is', null)
    .where(confirmationEnds, '>', now)
    .where('users.is_active', '=', true);
};
