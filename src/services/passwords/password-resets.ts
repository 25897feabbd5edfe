import { OutboxMail } from '../../../entities/outbox-mail.ts';
import { clientIdsOf, type Em, kysely } from '../../db/kysely.ts';
import { Problem } from '../../lib/problems.ts';
import { lockActiveUser } from '../accounts/user-locks.ts';
import { ofAddress, ofOneself } from '../audit/audit.ts';
import { setPassword } from '../auth/credentials.ts';
import { parseLinkToken, type SignedLinks } from '../auth/signed-links.ts';
import { proveAddress } from '../auth/ways-in.ts';
import { REQUIRES_SSO } from '../clients/connection-lookup.ts';
import { enqueuePasswordNotice, newMail } from '../outbox/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type PasswordPolicy, readPolicyOfUser, rejectWeakPassword } from './password-rules.ts';

/** Minutes for which the link to reset a password is valid. */
export const RESET_LINK_MINUTES = 60;

/** Sets passwords through mailed links: forgotten passwords, and the first password of a new user. */
export const createPasswordResets = (unit: UnitOfWork) => {
  const { em, clock, hasher, loadCommonPasswords, guessLimits, anonymousLimits, links, audit, origin } = unit;

  return {
    /**
     * Enqueues a mail to the address as given. The mail worker looks up the account, and discards the mail if there is none. No lookup
     * happens here, so neither the response nor its timing reveals whether the account exists.
     * @throws Problem `throttled`
     */
    request: async (email: string): Promise<void> => {
      await anonymousLimits.addReset(email, origin.address ?? '');
      await em.transactional(async (tx) => {
        tx.create(OutboxMail, { kind: 'password-reset', recipient: email, ...newMail(clock.now()) });
        await tx.flush();
        await audit.record(tx, [{ action: 'password.request-reset', actor: null, target: ofAddress(email) }]);
      });
    },

    /**
     * Returns the address whose password the link sets, and the policy that applies.
     * @throws Problem `invalid-link`, `sso-required`
     */
    verifyToken: async (token: string): Promise<{ email: string; policy: PasswordPolicy }> => {
      const { email, userId } = await findPasswordLink(em, links, token, clock.now());
      return { email, policy: await readPolicyOfUser(unit, userId) };
    },

    /**
     * Sets the password and revokes all credentials of the user. After a weak password the link stays valid.
     * @throws Problem `invalid-link`, `sso-required`, `invalid-input` on `password`, `overloaded`
     */
    reset: async (token: string, password: string): Promise<void> => {
      const link = await findPasswordLink(em, links, token, clock.now());
      const policy = await readPolicyOfUser(unit, link.userId);
      rejectWeakPassword(policy, password, link, await loadCommonPasswords());
      const hash = await hasher.hash(password);
      await em.transactional(async (tx) => {
        // Locks the user before the link, in the same order as deactivation.
        const isActive = await lockActiveUser(tx, link.userId);
        const links = kysely(tx).deleteFrom('password_links').where('id', '=', link.id);
        const used = await links.executeTakeFirst();
        // Only one of several concurrent uses deletes the link.
        if (!isActive || used.numDeletedRows === 0n) throw new Problem('invalid-link');
        const now = clock.now();
        await enqueuePasswordNotice(tx, { userId: link.userId, now, address: origin.address });
        await proveAddress({ tx, now }, { id: link.userId, isEmailVerified: link.isEmailVerified });
        await setPassword(tx, { userId: link.userId, hash, now });
        const owner = { id: link.userId, email: link.email, clientIds: await clientIdsOf(tx, link.userId) };
        await audit.record(tx, [{ action: 'password.reset', ...ofOneself(owner) }]);
      });
      await guessLimits.clearPasswords(link.email);
    },
  };
};

/**
 * Returns the link of this token and its user.
 * @throws Problem `invalid-link` if it is forged, used, replaced or expired, or the user is inactive; `sso-required`
 */
const findPasswordLink = async (em: Em, links: SignedLinks, token: string, now: Date) => {
  const parsed = parseLinkToken(token);
  if (!parsed) throw new Problem('invalid-link');
  const link = await kysely(em)
    .selectFrom('password_links as link')
    .innerJoin('users', 'users.id', 'link.user_id')
    .select(['link.id', 'link.user_id as userId', 'link.created_at as createdAt'])
    .select(['users.email', 'users.first_name as firstName', 'users.last_name as lastName'])
    .select('users.is_email_verified as isEmailVerified')
    .select(REQUIRES_SSO.as('requiresSso'))
    .where('link.id', '=', parsed.id)
    .where('link.expires_at', '>', now)
    .where('users.is_active', '=', true)
    .executeTakeFirst();
  if (!link || !links.isPasswordLinkSigned(link, parsed.signature)) throw new Problem('invalid-link');
  if (link.requiresSso) throw new Problem('sso-required');
  return link;
};
