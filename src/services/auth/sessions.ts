import { LockMode } from '@mikro-orm/postgresql';
import { type InferResult, sql } from 'kysely';
import { Session } from '../../../entities/credentials.ts';
import { type Condition, condition, type Em, kysely } from '../../db/kysely.ts';
import { type CursorPageRequest, cursorRow, readPage } from '../../db/pagination.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { isOutsideSharedTime } from '../access/visibility.ts';
import type { AuditEvent } from '../audit/audit.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { lockOwner, lockUser, readOwnerId } from '../users/user-locks.ts';
import { isCurrent, revokeCredentials, tokenDigest } from './credentials.ts';
import { rethrowAsWrongPassword } from './password-verification.ts';

/** Days without use after which a session ends. */
export const SESSION_IDLE_DAYS = 14;

/** The absolute lifetime of a session, by the database's clock. */
export const isUnexpired = condition`sessions.expires_at > now()`;

/** SQL: whether a session was used lately. Idle ones are ended, and no list shows them before. */
export const isUsed = (now: Date): Condition =>
  condition`sessions.last_used > ${new Date(now.getTime() - SESSION_IDLE_DAYS * DAY_MS)}`;

/** Browser sessions of the actor, and of users whom the actor may change. */
export const createSessions = ({
  em,
  clock,
  audit,
  passwordVerification,
  deviceCookies,
  idempotency,
}: UnitOfWork) => ({
  /**
   * Lists the valid sessions of the actor, or of the user with this address, last used first.
   * @throws Problem `invalid-input` on `cursor`, `not-found`, `forbidden`
   */
  list: async (actor: Actor, page: CursorPageRequest, email?: string): Promise<SessionRow[]> => {
    const rows = sessionRows(em, actor, await readOwnerId(em, actor, email), clock.now());
    if (page.cursor === undefined) return readPage(rows, 'id', page);
    const { last_used: at, id } = await cursorRow(rows.where('id', '=', page.cursor));
    return readPage(rows.where(condition`(last_used, id) < (${at}, ${id})`), 'id', page);
  },

  /**
   * Verifies the actor's password again and records the time in their session, if they have one.
   * @throws Problem `invalid-input` on `password`, `unauthenticated`, `throttled`, `overloaded`, `idempotency-key-reused`
   */
  confirm: async (actor: Actor, password: string, idempotencyKey: IdempotencyKey | null): Promise<void> => {
    const request = { actor, idempotencyKey, operation: 'sessions.confirm', input: [password] };
    await idempotency.runOnce<null>(request, async (write) => {
      const user = await passwordVerification
        .verify(actor.email, password, 'live')
        .catch(rethrowAsWrongPassword);
      return write(async (tx) => {
        if (actor.credential?.kind !== 'session') return null;
        const lockMode = LockMode.PESSIMISTIC_WRITE;
        const session = await tx.findOne(Session, actor.credential.id, { lockMode });
        // A concurrent password change revokes the session.
        if (!session) throw new Problem('unauthenticated');
        session.authenticatedAt = clock.now();
        await tx.flush();
        const event: AuditEvent = { action: 'session.confirm', actor, target: user.email };
        await audit.record(tx, [{ ...event, clients: user.clientIds }]);
        return null;
      });
    });
  },

  /**
   * Revokes a session of the actor, or of the user with this address.
   * @throws Problem `not-found`, `forbidden`
   */
  revoke: (actor: Actor, id: number, email?: string): Promise<void> =>
    em.transactional(async (tx) => {
      const owner = await lockOwner(tx, actor, email);
      const deleted = await kysely(tx)
        .deleteFrom('sessions')
        .where('user_id', '=', owner.id)
        .where('id', '=', id)
        .where(isOutsideSharedTime(actor, sql`user_id`, sql`created_at`, sql`last_used`))
        .executeTakeFirst();
      if (deleted.numDeletedRows === 0n) throw notFound('session');
      const { email: target, clientIds: clients } = owner;
      await audit.record(tx, [{ action: 'session.end', actor, target, clients }]);
    }),

  /** Deletes the session that a new login replaces in the browser. */
  replace: async (secret: string): Promise<void> => {
    await kysely(em).deleteFrom('sessions').where('digest', '=', tokenDigest(secret)).execute();
  },

  /** A device cookie for the browser with this session, or null if the session has ended. */
  issueDeviceCookie: async (secret: string): Promise<string | null> => {
    const owner = await kysely(em)
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select(['users.id', 'users.last_password_set as lastPasswordSet'])
      .where('sessions.digest', '=', tokenDigest(secret))
      .executeTakeFirst();
    return owner ? deviceCookies.issue(owner) : null;
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
        { action: 'user.revoke-sessions', actor, target: user.email, clients: clientIds },
      ]);
    }),
});

const sessionRows = (em: Em, actor: Actor, userId: number, now: Date) =>
  kysely(em)
    .selectFrom('sessions')
    .select(['id', 'created_at', 'last_used', 'last_address', 'user_agent', isCurrent(actor, 'session')])
    .where('user_id', '=', userId)
    .where(isOutsideSharedTime(actor, sql`user_id`, sql`sessions.created_at`, sql`sessions.last_used`))
    .where(isUsed(now))
    .where(isUnexpired)
    .orderBy('last_used', 'desc')
    .orderBy('id', 'desc');

export type SessionRow = InferResult<ReturnType<typeof sessionRows>>[number];
