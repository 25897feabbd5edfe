import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { PASSWORD_HASH_KIND } from '../../../entities/user.ts';
import { tables } from '../../db/kysely.ts';

const kindOf = sql.raw<string>(PASSWORD_HASH_KIND);

/**
 * Lists the kinds of password hashes that active users have, such as `pbkdf2_sha256$1000000`. Reads one index entry per
 * kind: a loose index scan, emulated by a recursive query.
 */
export const passwordHashKinds = async (em: SqlEntityManager): Promise<string[]> => {
  const { rows } = await sql<{ kind: string }>`
    with recursive kinds (kind) as (
      (select ${kindOf} from users
        where is_active and password_hash is not null
        order by 1 limit 1)
      union all
      select (select ${kindOf} from users
        where is_active and password_hash is not null and ${kindOf} > kinds.kind
        order by 1 limit 1)
      from kinds where kinds.kind is not null
    )
    select kind from kinds where kind is not null`.execute(tables(em));
  return rows.map(({ kind }) => kind);
};
