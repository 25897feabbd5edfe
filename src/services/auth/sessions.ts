import { type InferResult, sql } from 'kysely';
import { type Condition, condition, type Em, kysely } from '../../db/kysely.ts';
import { type CursorPageRequest, cursorRow, readPage } from '../../db/pagination.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { invalid, notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requirePerson } from '../access/actor.ts';
import { type AuthMethod, BY_PASSWORD } from '../access/auth-methods.ts';
import { CLIENT_IDS } from '../access/visibility.ts';
import { CREDENTIAL_TABLES, revokeCredentials } from '../accounts/access-ends.ts';
import { lockActiveUser, lockOwner, lockUser, readOwnerId } from '../accounts/user-locks.ts';
import { ofUser } from '../audit/audit.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import {
  HAS_SECOND_FACTOR,
  hasSecondFactor,
  isCurrent,
  isOfScope,
  recordProof,
  tokenDigest,
} from './credentials.ts';
import type { CodeOwner, FactorProof } from './factor-verification.ts';
import { rethrowAsWrongPassword } from './password-verification.ts';

/** Days without use after which a session ends. */
export const SESSION_IDLE_DAYS = 14;

/** SQL: whether the absolute lifetime of a session has not ended. */
export const isUnexpired = (now: Date): Condition => condition`sessions.expires_at > ${now}::timestamptz`;

/** SQL: whether a session was used recently. Idle sessions end; lists hide them even before they are deleted. */
export const isUsed = (now: Date): Condition =>
  condition`sessions.last_used > ${new Date(now.getTime() - SESSION_IDLE_DAYS * DAY_MS)}`;

/** Browser sessions: the actor's, and sessions of users whom the actor may change. */
export const createSessions = (unit: UnitOfWork) => {
  const { em, clock, audit, passwordVerification, factorProofs, idempotency } = unit;

  /**
   * Records the time of the confirmation in the actor's session or token, and in a session the proven methods. Returns the new secret of a
   * session that has become stronger.
   */
  const recordConfirmation = async (
    tx: Em,
    { actor, owner }: Confirmation,
    methods: readonly AuthMethod[],
  ): Promise<string | null> => {
    const { credential } = actor;
    if (credential === null) return null;
    const { kind, id } = credential;
    const { numUpdatedRows } = await kysely(tx)
      .updateTable(CREDENTIAL_TABLES[kind])
      .set({ authenticated_at: clock.now() })
      .where('id', '=', id)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw new Problem('unauthenticated');
    const renewed = kind === 'session' ? await recordProof(tx, id, methods) : null;
    const about = { actor, target: ofUser(owner), clients: owner.clientIds };
    await audit.record(tx, [{ action: 'session.confirm', ...about }]);
    return renewed;
  };

  return {
    /**
     * Lists the valid sessions of the actor, or of the user with this address, last used first.
     * @throws Problem `invalid-input` on `cursor`, `not-found`, `forbidden`
     */
    list: async (actor: Actor, page: CursorPageRequest, email?: string): Promise<SessionRow[]> => {
      const rows = sessionRows(em, actor, await readOwnerId(em, actor, email), clock.now());
      if (page.cursor === undefined) return readPage(rows, 'id', page);
      const { last_used: at, id } = await cursorRow(rows.where('id', '=', page.cursor));
      const isAfter = condition`(last_used, id) < (${at}, ${id})`;
      return readPage(rows.where(isAfter), 'id', page);
    },

    /**
     * Verifies that the user of the session or token is the actor, and records the time in it. Users with a second factor confirm with that
     * factor, which a password does not replace; others with their password. A password that is sent with a second factor is verified, too.
     * Returns the new secret of a session that has become stronger, or null.
     * @throws Problem `invalid-input` on `password`, `otp-required`, `invalid-otp`, `invalid-passkey`, `confined-session`,
     * `unauthenticated`, `throttled`, `overloaded`, `idempotency-key-reused`
     */
    confirm: async (
      actor: Actor,
      proof: PasswordOrFactor,
      idempotencyKey: IdempotencyKey | null,
    ): Promise<string | null> => {
      requirePerson(actor);
      const { password, factor } = proof;
      const input = factor === undefined ? [password] : [password, factor];
      const request = { actor, idempotencyKey, operation: 'sessions.confirm', input };
      // Not part of the response, because responses are stored for an idempotency key, and secrets must not be.
      let renewed: string | null = null;
      await idempotency.runOnce<null>(request, async (write) => {
        const owner = await readCodeOwner(em, actor.id);
        if (owner.hasSecondFactor && factor === undefined) throw new Problem('otp-required', NEEDS_CODE);
        if (!owner.hasSecondFactor && password === undefined)
          throw invalid({ password: ['This field is required.'] });
        if (password !== undefined)
          await passwordVerification.verify(actor.email, password, 'live').catch(rethrowAsWrongPassword);
        const record = (prove: (tx: Em) => Promise<readonly AuthMethod[]>) =>
          write(async (tx) => {
            if (!(await lockActiveUser(tx, actor.id))) throw new Problem('unauthenticated');
            renewed = await recordConfirmation(tx, { actor, owner }, await prove(tx));
            return null;
          });
        if (owner.hasSecondFactor && factor !== undefined)
          return factorProofs.verify(owner, 'live', factor, record);
        return record(async (tx) => {
          // The user may have added a second factor since the password was verified.
          if (await hasSecondFactor(tx, actor.id)) throw new Problem('otp-required', NEEDS_CODE);
          return BY_PASSWORD;
        });
      });
      return renewed;
    },

    /**
     * Revokes a session of the actor, or of the user with this address.
     * @throws Problem `not-found`, `forbidden`
     */
    revoke: (actor: Actor, id: number, email?: string): Promise<void> =>
      em.transactional(async (tx) => {
        const owner = await lockOwner(tx, actor, email);
        await kysely(tx)
          .deleteFrom('sessions')
          .where('user_id', '=', owner.id)
          .where('id', '=', id)
          .where(isOfScope(actor, 'session'))
          .returning('id')
          .executeTakeFirstOrThrow(() => notFound('session'));
        const about = { actor, target: ofUser(owner), clients: owner.clientIds };
        await audit.record(tx, [{ action: 'session.end', ...about }]);
      }),

    /**
     * Deletes the session that a new login replaces in the browser. Its logins to apps by OpenID Connect go on with the new session, if that
     * is of the same person: an app that asks them to log in again must not log them out of the others.
     * @param newSecret null while the new login waits for a second factor
     */
    replace: async (secret: string, newSecret: string | null): Promise<void> => {
      const old = tokenDigest(secret);
      await em.transactional(async (tx) => {
        await sql`
          update openid_logins set session_id = new.id, check_at = ${clock.now()}::timestamptz
          from sessions old join sessions new on new.user_id = old.user_id and new.digest = ${newSecret && tokenDigest(newSecret)}
          where old.digest = ${old} and openid_logins.session_id = old.id and openid_logins.ended_at is null`.execute(
          kysely(tx),
        );
        await kysely(tx).deleteFrom('sessions').where('digest', '=', old).execute();
      });
    },

    /**
     * Revokes every session and token of a user. The user may log in again.
     * @throws Problem `not-found`, `forbidden`
     */
    revokeAll: (actor: Actor, email: string): Promise<void> =>
      em.transactional(async (tx) => {
        const { user, clientIds } = await lockUser(tx, actor, email);
        await revokeCredentials(tx, user.id, user.id === actor.id ? actor.credential : null);
        await audit.record(tx, [
          { action: 'user.revoke-sessions', actor, target: ofUser(user), clients: clientIds },
        ]);
      }),
  };
};

type Confirmation = { actor: Actor; owner: CodeOwner };

/** What a user enters to confirm. */
type PasswordOrFactor = { password?: string | undefined; factor?: FactorProof | undefined };

const NEEDS_CODE = {
  detail:
    'Your account has a second factor. Send a code of the authenticator app, or a recovery code, as `code`, or the answer of a passkey as `passkey`.',
};

const readCodeOwner = (em: Em, userId: number) =>
  kysely(em)
    .selectFrom('users')
    .select(['id', 'email'])
    .select([CLIENT_IDS, HAS_SECOND_FACTOR.as('hasSecondFactor')])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow(() => new Problem('unauthenticated'));

const sessionRows = (em: Em, actor: Actor, userId: number, now: Date) =>
  kysely(em)
    .selectFrom('sessions')
    .select(['id', 'created_at', 'last_used', 'last_address', 'user_agent', isCurrent(actor, 'session')])
    .where('user_id', '=', userId)
    .where(isOfScope(actor, 'session'))
    .where(isUsed(now))
    .where(isUnexpired(now))
    .orderBy('last_used', 'desc')
    .orderBy('id', 'desc');

export type SessionRow = InferResult<ReturnType<typeof sessionRows>>[number];
