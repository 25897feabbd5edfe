import { LockMode } from '@mikro-orm/postgresql';
import { Invitation } from '../../../entities/invitation.ts';
import { clientIdsOf, type Em } from '../../db/kysely.ts';
import { invalid, notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireUnconfined } from '../access/actor.ts';
import { BY_PASSWORD } from '../access/auth-methods.ts';
import { requireScope } from '../access/scope.ts';
import { createLoginOpening } from '../auth/login-opening.ts';
import type { SignedLinks } from '../auth/signed-links.ts';
import { findConnectionFor } from '../clients/connection-lookup.ts';
import { readPolicyOfClient, rejectWeakPassword } from '../passwords/password-rules.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import {
  createInvitee,
  extendInvitee,
  type InvitationDetails,
  invitationDetails,
  lockGroups,
} from './invitee.ts';

type Acceptance = {
  key: string;
  signature: string;
  /** Default: the names in the invitation. */
  first_name?: string | undefined;
  last_name?: string | undefined;
  password?: string | undefined;
  userAgent: string;
};

/** What the invitee needs to accept an invitation. `activation`: an admin of the client must reactivate the account. */
export type AcceptanceRequirement = 'password' | 'login' | 'nothing' | 'activation';

/** Actions of the invitee, authorized by the key and the signature of the mailed link. */
export const createInvitationAcceptance = (unit: UnitOfWork) => {
  const { em, clock, hasher, loadCommonPasswords, links, audit, tokenUses } = unit;
  const opening = createLoginOpening(unit);

  const hashOf = async (invitation: InvitationDetails, input: Acceptance) => {
    const { password } = input;
    if (password === undefined) throw invalid({ password: ['This field is required.'] });
    const person = { email: invitation.email, ...namesOf(invitation, input) };
    const policy = await readPolicyOfClient(unit, invitation.client_id);
    rejectWeakPassword(policy, password, person, await loadCommonPasswords());
    return hasher.hash(password);
  };

  /**
   * Locks and closes the invitation, and returns its present state: it may have been changed while the password was hashed. Of two
   * concurrent acceptances, the second waits here and then finds the invitation closed.
   */
  const close = async (tx: Em, { key, signature }: Acceptance, now: Date): Promise<InvitationDetails> => {
    const locked = await tx.findOneOrFail(Invitation, { key }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!locked.accept(now)) throw new Problem('invitation-closed');
    await lockGroups(tx, locked.id);
    // A separate statement: a statement that waits for a lock sees the other tables as they were before it waited.
    return findInvitationByLink(tx, links, { key, signature }, now);
  };

  const acceptAsNew = async (invitation: InvitationDetails, input: Acceptance) => {
    const hash = await hashOf(invitation, input);
    return em.transactional(async (tx) => {
      const now = clock.now();
      const closed = await close(tx, input, now);
      const user = await createInvitee({ tx, now, audit }, closed, { ...namesOf(closed, input), hash });
      const owner = { id: user.id, email: user.email, clientIds: await clientIdsOf(tx, user.id) };
      const login = { methods: BY_PASSWORD, userAgent: input.userAgent };
      return opening.open(tx, owner, login);
    });
  };

  const acceptAs = (input: Acceptance, actor: Actor) =>
    em.transactional(async (tx) => {
      const now = clock.now();
      await extendInvitee({ tx, now, audit }, await close(tx, input, now), actor);
    });

  return {
    /**
     * The invitation, and what the invitee needs to accept it. Changes nothing: mail scanners follow links.
     * @throws Problem `not-found` for an unknown key or a wrong signature
     */
    open: async (key: string, signature: string, actor: Actor | null) => {
      const invitation = await findInvitationByLink(em, links, { key, signature }, clock.now());
      const policy = await readPolicyOfClient(unit, invitation.client_id);
      const connection = await findConnectionFor(em, invitation.client_id, invitation.email);
      return { invitation, needs: requirementOf(invitation, actor), policy, connection };
    },

    /**
     * Creates the user and a session (or a challenge, if a policy gives new members no time to set up a second factor), or adds the invited
     * access to the logged-in user.
     * @throws Problem `not-found`, `invitation-closed`, `sso-required`, `login-required`, `account-inactive`, `invalid-input` on
     * `password`, `overloaded`
     */
    accept: async (input: Acceptance, actor: Actor | null) => {
      const invitation = await findInvitationByLink(em, links, input, clock.now());
      if (invitation.status !== 'pending') throw new Problem('invitation-closed');
      if (invitation.user_is_active === null) {
        const connection = await findConnectionFor(em, invitation.client_id, invitation.email);
        if (connection?.is_required) throw new Problem('sso-required');
        return { invitation, login: await acceptAsNew(invitation, input) };
      }
      if (invitation.needs_activation) throw new Problem('account-inactive');
      if (actor?.email !== invitation.email) throw new Problem('login-required');
      requireScope(actor.scope, 'invitations:write');
      tokenUses.record(actor, 'invitations.accept', ['invitations:write']);
      if (actor.scope.only !== invitation.client_id) requireUnconfined(actor);
      await acceptAs(input, actor);
      return { invitation, login: null };
    },
  };
};

const namesOf = (invitation: InvitationDetails, input: Acceptance) => ({
  firstName: input.first_name ?? invitation.first_name,
  lastName: input.last_name ?? invitation.last_name,
});

/** Existing users must log in. The link alone, which the inviter may be able to copy, must not set the password of an existing account. */
const requirementOf = (invitation: InvitationDetails, actor: Actor | null): AcceptanceRequirement => {
  if (invitation.user_is_active === null) return 'password';
  if (invitation.needs_activation) return 'activation';
  return actor?.email === invitation.email ? 'nothing' : 'login';
};

type Link = { key: string; signature: string };

/**
 * Finds the invitation of a mailed link, with the contents of its page.
 * @throws Problem `not-found` for an unknown key or a wrong signature
 */
const findInvitationByLink = async (em: Em, links: SignedLinks, link: Link, now: Date) => {
  if (!links.isInvitationSigned(link.key, link.signature)) throw notFound('invitation');
  return invitationDetails(em, now)
    .where('invitations.key', '=', link.key)
    .executeTakeFirstOrThrow(() => notFound('invitation'));
};
