import { LockMode } from '@mikro-orm/postgresql';
import { Invitation } from '../../../entities/invitation.ts';
import { type Db, runStatements } from '../../db/kysely.ts';
import { newSessionSecret } from '../../lib/ids.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { type AuditEvent, isEmpty } from '../audit/audit.ts';
import { sessionStatements } from '../auth/credentials.ts';
import { readPolicyOfClient, rejectWeakPassword } from '../passwords/password-rules.ts';
import type { Unit } from '../unit.ts';
import { findInvitationByLink, type InvitationByLink } from './invitation-rows.ts';
import { createInvitee, extendInvitee } from './invitee.ts';

export type Acceptance = {
  key: string;
  signature: string;
  first_name: string;
  last_name: string;
  password?: string | undefined;
  userAgent: string;
};

/** What is needed to accept an invitation. `activation`: an admin must reactivate the account. */
export type AcceptanceRequirement = 'password' | 'login' | 'nothing' | 'activation';

/** Actions of the invitee, authorized by the key and the signature of the mailed link. */
export const createInvitationAcceptance = (unit: Unit) => {
  const { em, clock, hasher, commonPasswords, links, audit, origin, sessionMaxDays: maxDays } = unit;

  const hashOf = async (invitation: InvitationByLink, { password, ...names }: Acceptance) => {
    if (password === undefined) throw invalid({ password: ['This field is required.'] });
    const person = { email: invitation.email, firstName: names.first_name, lastName: names.last_name };
    const policy = await readPolicyOfClient(em, invitation.client_id);
    rejectWeakPassword(policy, password, person, commonPasswords);
    return hasher.hash(password);
  };

  /**
   * Locks the invitation and closes it, and returns it as it is now: it may have been changed while the password was hashed. Of two
   * concurrent acceptances, the second waits here and then finds the invitation closed.
   */
  const close = async (tx: Db, { key, signature }: Acceptance, now: Date): Promise<InvitationByLink> => {
    const locked = await tx.findOneOrFail(Invitation, { key }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!locked.accept(now)) throw new Problem('invitation-closed');
    // A separate statement: one that waits for a lock sees the other tables as they were before it waited.
    return findInvitationByLink(tx, links, { key, signature }, now);
  };

  const acceptAsNew = async (invitation: InvitationByLink, input: Acceptance) => {
    const hash = await hashOf(invitation, input);
    const secret = newSessionSecret();
    await em.transactional(async (tx) => {
      const now = clock.now();
      const closed = await close(tx, input, now);
      const names = { firstName: input.first_name, lastName: input.last_name };
      const user = await createInvitee(tx, closed, { ...names, hash, now });
      const address = origin.address ?? '';
      const { userAgent } = input;
      await runStatements(
        tx,
        sessionStatements(tx, { userId: user.id, secret, now, address, userAgent, maxDays }),
      );
      const event = { actor: user, target: user.email, clients: [invitation.client_id] };
      await audit.record(tx, [
        { ...event, action: 'user.create' },
        acceptEvent(closed, user),
        { ...event, action: 'login.session' },
      ]);
    });
    return secret;
  };

  const acceptAs = (input: Acceptance, actor: Actor) =>
    em.transactional(async (tx) => {
      const now = clock.now();
      const invitation = await close(tx, input, now);
      const { details, clients } = await extendInvitee(tx, invitation, actor.id, now);
      const events = [acceptEvent(invitation, actor)];
      if (!isEmpty(details))
        events.push({ action: 'user.update', actor, target: actor.email, clients, details });
      await audit.record(tx, events);
    });

  return {
    /**
     * The invitation and what is needed to accept it. Changes nothing: mail scanners follow links.
     * @throws Problem `not-found` for an unknown key or a wrong signature
     */
    open: async (key: string, signature: string, actor: Actor | null) => {
      const invitation = await findInvitationByLink(em, links, { key, signature }, clock.now());
      const policy = await readPolicyOfClient(em, invitation.client_id);
      return { invitation, needs: requirementOf(invitation, actor), policy };
    },

    /**
     * Creates the user and a session, and returns its secret; or adds the invited access to the user who is logged in.
     * @throws Problem `not-found`, `invitation-closed`, `login-required`, `account-inactive`, `invalid-input` on
     * `password`, `overloaded`
     */
    accept: async (input: Acceptance, actor: Actor | null) => {
      const invitation = await findInvitationByLink(em, links, input, clock.now());
      if (invitation.status !== 'pending') throw new Problem('invitation-closed');
      if (invitation.user_is_active === null) {
        return { invitation, session: await acceptAsNew(invitation, input) };
      }
      if (!invitation.user_is_active) throw new Problem('account-inactive');
      if (actor?.email !== invitation.email) throw new Problem('login-required');
      await acceptAs(input, actor);
      return { invitation, session: null };
    },
  };
};

const acceptEvent = (invitation: InvitationByLink, actor: { email: string }): AuditEvent => ({
  action: 'invitation.accept',
  actor,
  target: invitation.email,
  clients: [invitation.client_id],
  details: { id: invitation.id, apps: invitation.app_labels },
});

/**
 * Existing users must log in. The link alone, which the inviter may be able to copy, must not set the password of an
 * existing account.
 */
const requirementOf = (invitation: InvitationByLink, actor: Actor | null): AcceptanceRequirement => {
  if (invitation.user_is_active === null) return 'password';
  if (!invitation.user_is_active) return 'activation';
  return actor?.email === invitation.email ? 'nothing' : 'login';
};
