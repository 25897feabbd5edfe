import type { InferResult } from 'kysely';
import { clientIdsOf, type Db, tables } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { newToken } from '../../lib/ids.ts';
import { invalid, notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireRecentPassword } from '../access/actor.ts';
import type { Unit } from '../unit.ts';
import { lockActiveUser } from '../users/user-locks.ts';
import { addToken, isStillLoggedIn } from './credentials.ts';

const MAX_NAMED_TOKENS = 50;

/** The actor's own tokens: named ones, and those issued by logins. */
export const createApiTokens = ({ em, clock, audit, origin, tokenIdleDays }: Unit) => ({
  /** Lists valid tokens, newest first. */
  list: (actor: Actor, part: CursorPageRequest): Promise<ApiTokenRow[]> => {
    const rows = tokenRows(em, actor, clock.now(), tokenIdleDays);
    return readPage(afterCursor(rows, 'id', part.cursor, 'desc'), 'id', part);
  },

  /**
   * Creates a named token, for example for a script. Only this response contains its text.
   * @throws Problem `invalid-input` on `name`, `reauthentication-required`
   */
  create: (actor: Actor, name: string): Promise<{ row: ApiTokenRow; token: string }> =>
    em.transactional(async (tx) => {
      requireRecentPassword(actor, clock.now());
      await lockOwner(tx, actor);
      await deleteIdle(tx, actor, clock.now(), tokenIdleDays);
      const valid = tokenRows(tx, actor, clock.now(), tokenIdleDays);
      if ((await valid.where('name', '<>', '').execute()).length >= MAX_NAMED_TOKENS) {
        throw invalid({ name: [`You already have ${MAX_NAMED_TOKENS} named tokens. Revoke one first.`] });
      }
      const token = newToken();
      const now = clock.now();
      const id = await addToken(tx, { userId: actor.id, token, now, address: origin.address ?? '', name });
      const clients = await clientIdsOf(tx, actor.id);
      const event = { actor, target: actor.email, clients, details: { id, name } };
      await audit.record(tx, [{ action: 'token.create', ...event }]);
      const row = await tokenRows(tx, actor, now, tokenIdleDays)
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      return { row, token };
    }),

  /** @throws Problem `not-found` */
  revoke: (actor: Actor, id: number): Promise<void> =>
    em.transactional(async (tx) => {
      const revoked = await tables(tx)
        .deleteFrom('api_tokens')
        .where('user_id', '=', actor.id)
        .where('id', '=', id)
        .returning('name')
        .executeTakeFirstOrThrow(() => notFound('token'));
      const clients = await clientIdsOf(tx, actor.id);
      const details = { id, name: revoked.name };
      await audit.record(tx, [{ action: 'token.revoke', actor, target: actor.email, clients, details }]);
    }),
});

/**
 * Locks the actor, so that concurrent requests count tokens one after another, and waits for a concurrent deactivation or
 * password change, which must revoke the new token too.
 * @throws Problem `unauthenticated` if the actor's credential was revoked
 */
const lockOwner = async (tx: Db, actor: Actor): Promise<void> => {
  const isActive = await lockActiveUser(tx, actor.id);
  if (!isActive || !(await isStillLoggedIn(tx, actor))) throw new Problem('unauthenticated');
};

/** Deletes expired tokens, which frees their names. */
const deleteIdle = (tx: Db, actor: Actor, now: Date, idleDays: number) =>
  tables(tx)
    .deleteFrom('api_tokens')
    .where('user_id', '=', actor.id)
    .where('last_used', '<=', idleCutoff(now, idleDays))
    .execute();

/** Tokens last used before this time have expired. */
const idleCutoff = (now: Date, idleDays: number): Date =>
  idleDays === 0 ? new Date(0) : new Date(now.getTime() - idleDays * DAY_MS);

const tokenRows = (em: Db, actor: Actor, now: Date, idleDays: number) =>
  tables(em)
    .selectFrom('api_tokens')
    .select(['id', 'name', 'created_at', 'last_used', 'last_address'])
    .where('user_id', '=', actor.id)
    .where('last_used', '>', idleCutoff(now, idleDays))
    .orderBy('id', 'desc');

export type ApiTokenRow = InferResult<ReturnType<typeof tokenRows>>[number];
