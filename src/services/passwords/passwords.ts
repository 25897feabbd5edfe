import { sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import { type Actor, type Credential, canViewAll } from '../access/actor.ts';
import { lockActiveUser } from '../accounts/user-locks.ts';
import { ofOneself } from '../audit/audit.ts';
import { renewSession, setPassword } from '../auth/credentials.ts';
import { rethrowAsWrongPassword, type VerifiedUser } from '../auth/password-verification.ts';
import { readClient } from '../clients/clients.ts';
import { findClientByHost } from '../clients/sites.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import { enqueuePasswordNotice } from '../outbox/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import {
  checkPassword,
  type Person,
  readPolicyOfClient,
  readPolicyOfUser,
  rejectWeakPassword,
} from './password-rules.ts';

type ExpiredPassword = { username: string; current: string; next: string };
type Replacement = { current: string; next: string; kept: Credential | null };

const NOT_EXPIRED = 'This password has not expired. Log in, and change it there.';

export const createPasswords = (unit: UnitOfWork) => {
  const { em, clock, hasher, loadCommonPasswords, passwordVerification } = unit;
  const { audit, origin, idempotency } = unit;

  const replace = async <T>(
    user: VerifiedUser,
    { current, next, kept }: Replacement,
    transact: (work: (tx: Em) => Promise<void>) => Promise<T>,
  ): Promise<T> => {
    if (next === current) throw invalid({ new_password: ['Must differ from the current password.'] });
    const person = await readPerson(em, user.id);
    const policy = await readPolicyOfUser(unit, user.id);
    rejectWeakPassword(policy, next, person, await loadCommonPasswords(), 'new_password');
    const hash = await hasher.hash(next);
    const outdated = new Error('deactivated, or password changed, since it was verified');
    const replaced = transact(async (tx) => {
      if (!(await lockActiveUser(tx, user.id, user.lastPasswordSet))) throw outdated;
      const now = clock.now();
      await enqueuePasswordNotice(tx, { userId: user.id, now, address: origin.address });
      await setPassword(tx, { userId: user.id, hash, now, kept });
      await audit.record(tx, [{ action: 'password.change', ...ofOneself(user) }]);
    });
    return replaced.catch((error: unknown) => {
      if (error === outdated) return passwordVerification.failAfterVerification(user);
      throw error;
    });
  };

  return {
    /**
     * Changes the actor's own password, and revokes all their other credentials.
     * @returns the new secret of a session, or null
     * @throws Problem `invalid-input` on `password` (not the current one), `new_password`; `throttled`, `overloaded`,
     * `idempotency-key-reused`
     */
    change: async (
      actor: Actor,
      { current, next }: { current: string; next: string },
      idempotencyKey: IdempotencyKey | null,
    ): Promise<string | null> => {
      const request = { actor, idempotencyKey, operation: 'passwords.change', input: [current, next] };
      // Not part of the response, because responses are stored for an idempotency key, and secrets must not be.
      let renewed: string | null = null;
      const { credential } = actor;
      await idempotency.runOnce<null>(request, async (transact) => {
        const user = await passwordVerification
          .verify(actor.email, current, 'live')
          .catch(rethrowAsWrongPassword);
        return replace(user, { current, next, kept: credential }, (work) =>
          transact(async (tx) => {
            await work(tx);
            if (credential?.kind === 'session') renewed = await renewSession(tx, credential.id);
            return null;
          }),
        );
      });
      return renewed;
    },

    /**
     * Changes an expired password, which can no longer be used to log in.
     * @throws Problem `invalid-credentials`, `sso-required`, `throttled`, `overloaded`, `invalid-input` on `password`, `new_password`
     */
    changeExpired: async ({ username, current, next }: ExpiredPassword): Promise<void> => {
      const user = await passwordVerification.verify(username, current, 'login');
      if (user.requiresSso) throw new Problem('sso-required');
      // A login would ask for the second factor.
      if (!user.isExpired) throw invalid({ password: [NOT_EXPIRED] });
      await replace(user, { current, next, kept: null }, (work) => em.transactional(work));
    },

    /** Checks a password against the actor's own policy, or without an actor against the policy of the client of this host. */
    check: async (actor: Actor | null, host: string, password: string, person: Person) => {
      const policy = actor
        ? await readPolicyOfUser(unit, actor.id)
        : await readPolicyOfClient(unit, (await findClientByHost(em, host)).id);
      const owner = actor ? await readPerson(em, actor.id) : person;
      return checkPassword(policy, password, owner, await loadCommonPasswords());
    },

    /**
     * Lists active members of a client whose passwords would be expired if they were valid for this many days, oldest password first. 0
     * days means no expiry: no member is affected. For accounts that were shared, admins see neither whether there is a password nor when
     * it was set.
     * @throws Problem `not-found`
     */
    previewExpiry: async (actor: Actor, clientId: number, days: number, limit: number) => {
      await readClient(em, actor, clientId);
      const since = new Date(clock.now().getTime() - days * DAY_MS);
      const affected = kysely(em)
        .selectFrom('users')
        .innerJoin('memberships', 'memberships.user_id', 'users.id')
        .where('memberships.client_id', '=', clientId)
        .where('users.is_active', '=', true)
        .where(condition`(users.password_hash is not null or not ${isAccountKnownTo(actor)})`)
        .where('users.last_password_set', '<', days === 0 ? new Date(0) : since);
      const [{ total }, users] = await Promise.all([
        affected.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
        affected
          .select('users.email')
          .select(
            sql<Date | null>`case when ${isAccountKnownTo(actor)} then users.last_password_set end`.as(
              'last_password_set',
            ),
          )
          .orderBy('users.last_password_set')
          .orderBy('users.id')
          .limit(limit)
          .execute(),
      ]);
      return { total, users };
    },
  };
};

/** SQL: whether the viewer may see the account of a member. */
const isAccountKnownTo = (viewer: Actor) =>
  canViewAll(viewer) ? condition`true` : condition`not users.was_shared`;

const readPerson = (em: Em, userId: number): Promise<Person> =>
  kysely(em)
    .selectFrom('users')
    .select(['email', 'first_name as firstName', 'last_name as lastName'])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow();
