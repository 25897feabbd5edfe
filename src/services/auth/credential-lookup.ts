import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Kysely, sql } from 'kysely';
import type { Database } from '../../../entities/index.ts';
import type { Read } from '../../db/batched-reads.ts';
import { prepared } from '../../db/compiled-query.ts';
import { createBatchLoader } from '../../lib/batch-loader.ts';
import type { Credential } from '../access/actor.ts';

export type CredentialLookup = ReturnType<typeof createCredentialLookup>;

/** Logins of superusers and staff; the longest known go. */
const MAX_REMEMBERED = 10_000;

/** Who owns the token or session of a digest, if it is known and its owner active. Asked by every request. */
export const createCredentialLookup = (em: SqlEntityManager, read: Read) => {
  /** Digests of credentials whose owner could see all users at the last look-up. */
  const sawAll = new Set<string>();
  const remember = (digest: string, owner?: { is_superuser: boolean; is_staff: boolean }): void => {
    if (!owner?.is_superuser && !owner?.is_staff) sawAll.delete(digest);
    else sawAll.add(digest);
    const [oldest] = sawAll;
    if (sawAll.size > MAX_REMEMBERED && oldest !== undefined) sawAll.delete(oldest);
  };
  const ownersBy = (kind: Credential['kind']) => async (digests: readonly string[]) => {
    const owners = byDigest(await read(OWNERS[kind].bound(em, { digests })));
    for (const digest of digests) remember(digest, owners.get(digest));
    return owners;
  };
  const gathered = {
    token: createBatchLoader(ownersBy('token')),
    session: createBatchLoader(ownersBy('session')),
  };
  const lookUpCredential = async (unit: SqlEntityManager, kind: Credential['kind'], digest: string) =>
    // A transaction sees what nobody else does as yet.
    unit.isInTransaction() ? (await OWNERS[kind](unit, { digests: [digest] })).at(0) : gathered[kind](digest);

  return Object.assign(lookUpCredential, {
    /** A guess at what the next look-up will say of the owner. It permits nothing. */
    sawAllLastTime: (digest: string): boolean => sawAll.has(digest),
  });
};

export const activeUsers = (db: Kysely<Database>) =>
  db
    .selectFrom('users')
    .select(['users.id', 'users.email', 'users.is_superuser', 'users.is_staff'])
    .select(
      sql<number[]>`array(select client_id from memberships m
        where m.user_id = users.id and m.is_admin order by client_id)`.as('admin_of'),
    )
    .where('users.is_active', '=', true);

const byDigest = <Owner extends { digest: string }>(owners: readonly Owner[]) =>
  new Map(owners.map((owner) => [owner.digest, owner]));

const isAsked = (column: string, digests: readonly string[]) =>
  sql<boolean>`${sql.ref(column)} = any(${digests}::varchar[])`;

/** The absolute lifetime of a session, by the database's clock. */
export const isUnexpired = sql<boolean>`sessions.expires_at > now()`;

type Asked = { digests: readonly string[] };

const OWNERS = {
  token: prepared((db, { digests }: Asked) =>
    activeUsers(db)
      .innerJoin('api_tokens', 'api_tokens.user_id', 'users.id')
      .select(['api_tokens.id as credential_id', 'api_tokens.last_used', 'api_tokens.digest'])
      .select(sql<Date | null>`null::timestamptz`.as('authenticated_at'))
      .where(isAsked('api_tokens.digest', digests)),
  ),
  session: prepared((db, { digests }: Asked) =>
    activeUsers(db)
      .innerJoin('sessions', 'sessions.user_id', 'users.id')
      .select(['sessions.id as credential_id', 'sessions.last_used', 'sessions.digest'])
      .select(sql<Date | null>`sessions.authenticated_at`.as('authenticated_at'))
      .where(isAsked('sessions.digest', digests))
      .where(isUnexpired),
  ),
};
