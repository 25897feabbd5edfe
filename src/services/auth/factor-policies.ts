import { sql } from 'kysely';
import { Client, type FactorPolicy } from '../../../entities/client.ts';
import { condition, countIn, type Em, kysely } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { invalid } from '../../lib/problems.ts';
import { type Actor, canViewAll } from '../access/actor.ts';
import { isListedView, isPerson } from '../access/visibility.ts';
import { isEmpty, ofClient } from '../audit/audit.ts';
import { editEntity } from '../audit/edits.ts';
import { lockClient, readClient, readManagedClient } from '../clients/clients.ts';
import { enqueuePolicyNotices } from '../policies/factor-notices.ts';
import { hasFactorOf, lackingFrom, STRENGTH_OF_POLICY } from '../policies/factor-policy.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { relyingPartyOf } from './webauthn.ts';

type PolicyChanges = {
  factor_policy?: FactorPolicy | undefined;
  factor_grace_days?: number | undefined;
  factor_mails?: boolean | undefined;
};

const OWN_LOCKOUT = {
  1: 'You have no second factor yet, and would need it at once. Set one up first, or give at least one day.',
  2: 'You have no passkey yet, and would need it at once. Add one first, or give at least one day.',
};

/** The policies of clients for second factors. */
export const createFactorPolicies = ({ em, clock, audit, baseUrl }: UnitOfWork) => ({
  /**
   * Ends no session. If a policy requires more than before, it and its grace period begin now. People who must set up a second factor are
   * mailed, unless the client has turned that off.
   * @throws Problem `not-found`, `forbidden`; `invalid-input` on `factor_grace_days` if the actor would have to enrol at once;
   * `passkeys-unavailable`
   */
  update: (actor: Actor, id: number, changes: PolicyChanges) =>
    em.transactional(async (tx) => {
      const { row, client } = await lockClient(tx, actor, id);
      const { factor_policy: before, factor_grace_days: daysBefore } = row;
      const now = clock.now();
      const details = editEntity(tx, Client, client, changes);
      const { factorPolicy, factorGraceDays, factorMails } = client;
      // If browsers have no passkeys for this address of the service, no one could log in.
      if (factorPolicy === 'passkey' && before !== factorPolicy) relyingPartyOf(baseUrl);
      client.factorPolicySince = policySince(row.factor_policy_since, before, factorPolicy, now);
      await tx.flush();
      await requireOwnFactor(tx, actor, id, now);
      if (factorMails && (isStricter(before, factorPolicy) || factorGraceDays < daysBefore))
        await enqueuePolicyNotices(tx, { clientIds: [id], userIds: null, now });
      const event = { actor, target: ofClient(client), clients: [id], details };
      if (!isEmpty(details)) await audit.record(tx, [{ action: 'client.change-factor-policy', ...event }]);
      return readClient(tx, actor, id);
    }),

  /**
   * The people whom a policy would concern: how many have the required factor, and who lacks it. No one is locked out: people without a
   * second factor at the end of the grace period set one up at their next login. Only superusers and staff see the factors of people who
   * also belong to other clients; for other viewers, these people count as having none.
   * @throws Problem `not-found`, `forbidden`
   */
  preview: async (actor: Actor, id: number, policy: FactorPolicy, graceDays: number, limit: number) => {
    const client = await readManagedClient(em, actor, id, 'configure');
    const now = clock.now();
    const since = policySince(client.factor_policy_since, client.factor_policy, policy, now) ?? now;
    const isShared = condition`users.was_shared`;
    const isKnown = canViewAll(actor) ? condition`true` : condition`not ${isShared}`;
    const isEnough = condition`(${hasFactorOf(STRENGTH_OF_POLICY[policy] || 1)} and ${isKnown})`;
    const members = activeMembers(em, id);
    const without = members.where(condition`not ${isEnough}`);
    const [counts, users] = await Promise.all([
      members
        .select(({ fn }) => [
          fn.countAll<number>().as('members'),
          fn.countAll<number>().filterWhere(isEnough).as('with_factor'),
          fn.countAll<number>().filterWhere(condition`not ${isEnough}`).as('without_factor'),
          fn.countAll<number>().filterWhere(condition`not ${isEnough} and ${isShared}`).as('shared'),
          countIn('access_views', isUserViewOf(id, now)).as('views'),
        ])
        .executeTakeFirstOrThrow(),
      without
        .select(['users.email', 'users.first_name', 'users.last_name', isShared.as('is_shared')])
        .select(
          sql<Date>`greatest(${since}::timestamptz, m.joined_at) + ${graceDays} * interval '24 hours'`.as(
            'required_from',
          ),
        )
        .orderBy('users.email')
        .limit(limit)
        .execute(),
    ]);
    const demanded = STRENGTH_OF_POLICY[policy] > 0;
    const requiredFrom = demanded ? new Date(since.getTime() + graceDays * DAY_MS) : null;
    return { ...counts, required_from: requiredFrom, users };
  },
});

/** When the present requirement began; null if nothing is required. */
const policySince = (since: Date | null, before: FactorPolicy, after: FactorPolicy, now: Date) => {
  if (STRENGTH_OF_POLICY[after] === 0) return null;
  return isStricter(before, after) ? now : since;
};

const isStricter = (before: FactorPolicy, after: FactorPolicy): boolean =>
  STRENGTH_OF_POLICY[after] > STRENGTH_OF_POLICY[before];

/** The active members of a client, with their membership `m`. */
const activeMembers = (em: Em, clientId: number) =>
  kysely(em)
    .selectFrom('memberships as m')
    .innerJoin('users', 'users.id', 'm.user_id')
    .where('m.client_id', '=', clientId)
    .where('m.is_active_member', '=', true)
    .where('users.is_active', '=', true)
    .where(isPerson);

/** Links that open an app as a person without a login. Under the policy, they ask for one. */
const isUserViewOf = (clientId: number, now: Date) => condition`
  app_id in (select id from apps where client_id = ${clientId})
    and user_id is not null and is_active and ${isListedView(now)}`;

/** An admin must not be forced to enrol by surprise. */
const requireOwnFactor = async (tx: Em, actor: Actor, clientId: number, now: Date): Promise<void> => {
  const due = await kysely(tx)
    .selectFrom('memberships as m')
    .innerJoin('users', 'users.id', 'm.user_id')
    .innerJoin('clients as c', 'c.id', 'm.client_id')
    .select('c.factor_policy')
    .where('c.id', '=', clientId)
    .where('users.id', '=', actor.id)
    .where('m.is_active_member', '=', true)
    .where(condition`${lackingFrom('users')} <= ${now}::timestamptz`)
    .executeTakeFirst();
  if (due) throw invalid({ factor_grace_days: [OWN_LOCKOUT[due.factor_policy === 'passkey' ? 2 : 1]] });
};
