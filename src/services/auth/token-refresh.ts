import { sql } from 'kysely';
import { clientIdsOf, type Db, tables } from '../../db/kysely.ts';
import { newToken } from '../../lib/ids.ts';
import { Problem } from '../../lib/problems.ts';
import { createSealedBox, deriveKey } from '../../lib/sealed-box.ts';
import type { Unit } from '../unit.ts';
import { lockActiveUser } from '../users/user-locks.ts';
import { addToken, isTokenUnexpired, tokenDigest } from './credentials.ts';
import { createIdentity } from './identity.ts';

/** How long a refreshed token stays valid, for requests that are being sent with it. By the database's clock. */
const GRACE = sql<Date>`now() + interval '1 minute'`;

/** Checks tokens, and exchanges them for new ones. Callers are anonymous: they prove to know the token. */
export const createTokenRefresh = (unit: Unit) => {
  const { em, clock, audit, origin, tokenThrottle } = unit;
  const address = origin.address ?? '';

  /** @throws Problem `invalid-token`, `throttled` */
  const limitFailures = async (find: () => Promise<string | null>): Promise<string> => {
    await tokenThrottle.check(address);
    const found = await find();
    if (found !== null) return found;
    await tokenThrottle.recordFailure(address);
    throw new Problem('invalid-token');
  };

  const replace = async (tx: Db, { id, user_id: userId, name, email }: TokenRow, token: string) => {
    const replacement = newToken();
    const db = tables(tx);
    await db
      .updateTable('api_tokens')
      .set({ name: '', expires_at: GRACE, replacement: seal(token, replacement) })
      .where('id', '=', id)
      .execute();
    await db
      .deleteFrom('api_tokens')
      .where('user_id', '=', userId)
      .where(sql<boolean>`not ${isTokenUnexpired}`)
      .execute();
    const newId = await addToken(tx, { userId, token: replacement, now: clock.now(), address, name });
    const clients = await clientIdsOf(tx, userId);
    const details = { id, name, new_id: newId };
    await audit.record(tx, [{ action: 'token.refresh', actor: { email }, target: email, clients, details }]);
    return replacement;
  };

  return {
    /**
     * Returns a valid token.
     * @throws Problem `invalid-token`, `throttled`
     */
    verify: (token: string): Promise<string> =>
      limitFailures(async () => ((await createIdentity(unit).isValidToken(token)) ? token : null)),

    /**
     * Returns a new token, which has the name of the old one. The old one ends a minute later. Until then, it is exchanged for the
     * same new token: concurrent refreshes of one token agree, and a lost response can be requested again.
     * @throws Problem `invalid-token`, `throttled`
     */
    refresh: (token: string): Promise<string> =>
      limitFailures(async () => {
        if (!(await createIdentity(unit).isValidToken(token))) return null;
        return em.transactional(async (tx) => {
          const row = await lockToken(tx, token);
          if (!row) return null;
          if (row.replacement === null) return replace(tx, row, token);
          const replacement = unseal(token, row.replacement);
          return (await isUsable(tx, replacement)) ? replacement : null;
        });
      }),
  };
};

/**
 * Locks the owner first: a concurrent deactivation or password change must revoke the new token, too. Then the token, which
 * may be revoked or refreshed concurrently.
 */
const lockToken = async (tx: Db, token: string) => {
  const tokens = tables(tx)
    .selectFrom('api_tokens')
    .innerJoin('users', 'users.id', 'api_tokens.user_id')
    .select([
      'api_tokens.id',
      'api_tokens.user_id',
      'api_tokens.name',
      'api_tokens.replacement',
      'users.email',
    ])
    .where('digest', '=', tokenDigest(token))
    .where(isTokenUnexpired);
  const found = await tokens.executeTakeFirst();
  if (!found || !(await lockActiveUser(tx, found.user_id))) return undefined;
  return tokens.forUpdate('api_tokens').executeTakeFirst();
};

type TokenRow = NonNullable<Awaited<ReturnType<typeof lockToken>>>;

/** Whether the token was not revoked, nor refreshed more than a minute ago. */
const isUsable = async (tx: Db, token: string): Promise<boolean> => {
  const usable = tables(tx).selectFrom('api_tokens').select('id').where('digest', '=', tokenDigest(token));
  return (await usable.where(isTokenUnexpired).executeTakeFirst()) !== undefined;
};

/** Only who knows the old token can open it: the database has no more than its digest. */
const boxOf = (token: string) => createSealedBox(deriveKey(token, 'steward token refresh'));
const CONTEXT = 'replacement';

const seal = (token: string, replacement: string): Buffer =>
  boxOf(token).seal(Buffer.from(replacement), CONTEXT);

const unseal = (token: string, sealed: Uint8Array): string => boxOf(token).open(sealed, CONTEXT).toString();
