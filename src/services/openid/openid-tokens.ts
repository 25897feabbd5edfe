import { sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { tokenDigest } from '../auth/credentials.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { isRunning } from './openid-logins.ts';

export type TokenKind = 'AuthorizationCode' | 'AccessToken' | 'RefreshToken';

/** The codes and tokens of apps. A token lives no longer than its login. */
export const createOpenidTokens = ({ em, clock }: UnitOfWork) => {
  const tokens = (kind: TokenKind, value: string) => isToken(em, kind, value);

  return {
    store: async (kind: TokenKind, value: string, token: NewToken): Promise<void> => {
      const { loginId, payload, seconds } = token;
      await kysely(em)
        .insertInto('openid_tokens')
        .values({
          digest: tokenDigest(value),
          login_id: loginId,
          kind,
          payload,
          expires_at: new Date(clock.now().getTime() + seconds * 1000),
        })
        .execute();
    },

    /** A token of a login that has not ended, also after it was consumed. */
    find: (kind: TokenKind, value: string) =>
      tokens(kind, value)
        .innerJoin('openid_logins', 'openid_logins.id', 'login_id')
        .select(['payload', 'consumed_at'])
        .where('openid_tokens.expires_at', '>', clock.now())
        .where(isRunning())
        .executeTakeFirst(),

    /** Of concurrent attempts, one consumes the token. It is kept for an hour, in which its repetition ends the login. */
    consume: async (kind: TokenKind, value: string): Promise<boolean> => {
      const hourLater = new Date(clock.now().getTime() + HOUR_MS);
      const { numUpdatedRows } = await kysely(em)
        .updateTable('openid_tokens')
        .set({ consumed_at: clock.now(), expires_at: sql`least(expires_at, ${hourLater}::timestamptz)` })
        .where('digest', '=', tokenDigest(value))
        .where('kind', '=', kind)
        .where('consumed_at', 'is', null)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },

    remove: async (kind: TokenKind, value: string): Promise<void> => {
      await kysely(em)
        .deleteFrom('openid_tokens')
        .where('digest', '=', tokenDigest(value))
        .where('kind', '=', kind)
        .execute();
    },

    removeOf: async (kind: TokenKind, loginId: number): Promise<void> => {
      await kysely(em)
        .deleteFrom('openid_tokens')
        .where('login_id', '=', loginId)
        .where('kind', '=', kind)
        .execute();
    },
  };
};

type NewToken = { loginId: number; payload: Record<string, unknown>; seconds: number };

const isToken = (em: Em, kind: TokenKind, value: string) =>
  kysely(em)
    .selectFrom('openid_tokens')
    .where(condition`openid_tokens.digest = ${tokenDigest(value)} and openid_tokens.kind = ${kind}`);
