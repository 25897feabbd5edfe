import { sql } from 'kysely';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import type { AddressDigest } from './erasure-keys.ts';

/** The pseudonyms under which usage of erased addresses is recorded, by address, as long as no account has the address. */
export const readPseudonyms = async (
  em: Em,
  addressDigest: AddressDigest,
  emails: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> => {
  const db = kysely(em);
  if (!(await db.selectFrom('erasures').select('id').limit(1).executeTakeFirst())) return new Map();
  const digests = new Map([...emails].map((email) => [addressDigest(email) ?? '', email]));
  const erased = await db
    .selectFrom('erasures')
    .leftJoin('users', 'users.id', 'erasures.user_id')
    // The account may have been erased again since.
    .select(['digests', sql<string>`coalesce(users.email, erasures.pseudonym)`.as('pseudonym')])
    .where(condition`digests && ${[...digests.keys()]}::varchar[]`)
    .orderBy('erasures.id')
    .execute();
  const held = await db
    .selectFrom('users')
    .select('email')
    .where(isAnyOf('email', emails, 'varchar'))
    .execute();
  const present = new Set(held.map(({ email }) => email));
  const named = erased.flatMap(({ digests: ofPerson, pseudonym }) =>
    ofPerson.flatMap((digest) => {
      const email = digests.get(digest);
      return email === undefined || present.has(email) ? [] : [[email, pseudonym] as const];
    }),
  );
  return new Map(named);
};
