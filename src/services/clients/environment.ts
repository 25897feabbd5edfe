import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';

export type Environment = { environment: string; upload_bucket_name: string };

export const createEnvironment = ({ em, defaults }: { em: SqlEntityManager; defaults: Environment }) => ({
  /** Admins of a client with its own bucket get that bucket. */
  read: async (actor: Actor): Promise<Environment> => {
    const own = await tables(em)
      .selectFrom('clients')
      .select('upload_bucket_name')
      .where(sql<boolean>`id = any(${actor.adminOf}::int[])`)
      .where('upload_bucket_name', 'is not', null)
      .orderBy('id')
      .limit(1)
      .executeTakeFirst();
    return { ...defaults, upload_bucket_name: own?.upload_bucket_name ?? defaults.upload_bucket_name };
  },
});
