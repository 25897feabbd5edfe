import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { clientIdsOf, tables } from '../../db/kysely.ts';
import { type CursorPageRequest, cursorRow, readPage } from '../../db/pagination.ts';
import { type Clock, DAY_MS } from '../../lib/clock.ts';
import { notFound, Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import type { Audit, AuditEvent } from '../audit/audit.ts';
import type { Idempotency, IdempotencyKey } from '../idempotency/idempotency.ts';
import { lockUser } from '../users/user-locks.ts';
import { isUnexpired } from './credential-lookup.ts';
import { isStillLoggedIn, revokeCredentials } from './credentials.ts';
import { SESSION_IDLE_DAYS, tokenDigest } from './identity.ts';
import { type PasswordVerification, rethrowAsWrongPassword } from './password-verification.ts';

type Deps = {
  em: SqlEntityManager;
  clock: Clock;
  audit: Audit;
  passwordVerification: PasswordVerification;
  idempotency: Idempotency;
};

/** The logins of browsers: one's own, and the end of somebody else's. */
export const createSessions = ({ em, clock, audit, passwordVerification, idempotency }: Deps) => ({
  /**
   * The actor's own that are still good, the last used first.
   * @throws Problem `invalid-input` on `cursor`
   */
  list: async (actor: Actor, part: CursorPageRequest): Promise<SessionRow[]> => {
    const rows = sessionRows(em, actor, clock.now());
    if (part.cursor === undefined) return readPage(rows, 'id', part);
    const { last_used: at, id } = await cursorRow(rows.where('id', '=', part.cursor));
    return readPage(rows.where(sql<boolean>`(last_used, id) < (${at}, ${id})`), 'id', part);
  },

  /**
   * Records that the actor has entered their password again, for their session if they have one.
   * @throws Problem `invalid-input` on `password`, `unauthenticated`, `throttled`, `overloaded`, `idempotency-key-reused`
   */
  confirm: async (actor: Actor, password: string, once: IdempotencyKey | null): Promise<void> => {
    const request = once && { once, operation: 'sessions.confirm', input: JSON.stringify([password]) };
    await idempotency.once<null>(actor, request, async (write) => {
      const user = await passwordVerification.verify(actor.email, password).catch(rethrowAsWrongPassword);
      return write(async (tx) => {
        // A password change in between has ended the session.
        if (!(await isStillLoggedIn(tx, actor))) throw new Problem('unauthenticated');
        if (actor.credential?.kind !== 'session') return null;
        await tables(tx)
          .updateTable('sessions')
          .set({ authenticated_at: clock.now() })
          .where('id', '=', actor.credential.id)
          .execute();
        const event: AuditEvent = { action: 'session.confirm', actor, target: user.email };
        await audit.record(tx, [{ ...event, clients: user.clientIds }]);
        return null;
      });
    });
  },

  /** @throws Problem `not-found` */
  revoke: (actor: Actor, id: number): Promise<void> =>
    em.transactional(async (tx) => {
      const ended = await tables(tx)
        .deleteFrom('sessions')
        .where('user_id', '=', actor.id)
        .where('id', '=', id)
        .executeTakeFirst();
      if (ended.numDeletedRows === 0n) throw notFound('session');
      const clients = await clientIdsOf(tx, actor.id);
      await audit.record(tx, [{ action: 'session.end', actor, target: actor.email, clients }]);
    }),

  /** Ends the session that a browser gives up for another: nobody could end it any more. */
  replace: async (secret: string): Promise<void> => {
    await tables(em).deleteFrom('sessions').where('digest', '=', tokenDigest(secret)).execute();
  },

  /**
   * Ends every session and token of a user; they may log in again.
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

const sessionRows = (em: SqlEntityManager, actor: Actor, now: Date) =>
  tables(em)
    .selectFrom('sessions')
    .select(['id', 'created_at', 'last_used', 'last_address', 'user_agent'])
    .where('user_id', '=', actor.id)
    .where('last_used', '>', new Date(now.getTime() - SESSION_IDLE_DAYS * DAY_MS))
    .where(isUnexpired)
    .orderBy('last_used', 'desc')
    .orderBy('id', 'desc');

export type SessionRow = Awaited<ReturnType<ReturnType<typeof sessionRows>['execute']>>[number];
