import { sql } from 'kysely';
import type { Read } from '../../db/batched-reads.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { createBatchLoader } from '../../lib/batch-loader.ts';
import type { Credential } from '../access/actor.ts';
import { ROLE_COLUMNS } from '../access/visibility.ts';
import { isTokenUnexpired } from './credentials.ts';
import { isUnexpired } from './sessions.ts';

/**
 * Finds the active owner of a token or session by its digest. Every request does this, so lookups of one event-loop tick
 * share a statement.
 */
export const createCredentialLookup = (em: Em, read: Read) => {
  const loadOwners = (kind: Credential['kind']) => async (digests: readonly string[]) => {
    const rows = await read(OWNERS[kind](em, digests));
    return new Map(rows.map((owner) => [owner.digest, owner]));
  };
  const loaders = {
    token: createBatchLoader(loadOwners('token')),
    session: createBatchLoader(loadOwners('session')),
  };
  return async (unit: Em, kind: Credential['kind'], digest: string) =>
    // A transaction must see its own uncommitted changes.
    unit.isInTransaction() ? OWNERS[kind](unit, [digest]).executeTakeFirst() : loaders[kind](digest);
};

export const activeUsers = (em: Em) =>
  kysely(em)
    .selectFrom('users')
    .select(['users.id', 'users.email'])
    .select(ROLE_COLUMNS)
    .where('users.is_active', '=', true);

const hasDigest = (column: string, digests: readonly string[]) =>
  condition`${sql.ref(column)} = any(${digests}::varchar[])`;

const OWNERS = {
  token: (em: Em, digests: readonly string[]) =>
    activeUsers(em)
      .innerJoin('api_tokens', 'api_tokens.user_id', 'users.id')
      .select(['api_tokens.id as credential_id', 'api_tokens.last_used', 'api_tokens.digest'])
      .select(sql<Date | null>`null::timestamptz`.as('authenticated_at'))
      .where(hasDigest('api_tokens.digest', digests))
      .where(isTokenUnexpired),
  session: (em: Em, digests: readonly string[]) =>
    activeUsers(em)
      .innerJoin('sessions', 'sessions.user_id', 'users.id')
      .select(['sessions.id as credential_id', 'sessions.last_used', 'sessions.digest'])
      .select(sql<Date | null>`sessions.authenticated_at`.as('authenticated_at'))
      .where(hasDigest('sessions.digest', digests))
      .where(isUnexpired),
};
