import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { userVisibleTo, type Viewer } from '../access/visibility.ts';

/**
 * The present and the former addresses of a person, under which they were recorded. A former address under which they did nothing may
 * have another person now, and then names that person only.
 */
export const readAddresses = async (em: Em, userId: number): Promise<string[]> => {
  const { rows } = await sql<{ email: string }>`
    select email from users where id = ${userId}
    union
    select old_email from email_changes c where user_id = ${userId} and changed_at is not null
      and not exists (select from users other where other.email = c.old_email and other.id <> c.user_id)
      and not exists (select from email_changes later where later.old_email = c.old_email
        and later.user_id <> c.user_id and later.changed_at > c.changed_at)`.execute(kysely(em));
  return rows.map(({ email }) => email);
};

/** The address, and the former ones of the person whose it is now, if the viewer may see them. */
export const readAddressesOf = async (em: Em, viewer: Viewer, email: string): Promise<string[]> => {
  const holder = await kysely(em)
    .selectFrom('users')
    .select('id')
    .where('email', '=', email)
    .where(userVisibleTo(viewer))
    .executeTakeFirst();
  return holder ? readAddresses(em, holder.id) : [email];
};

/**
 * SQL: the address of a row of `users` that the viewer may know: the present one of users whom they see, and of others, who have left,
 * the one at that time.
 */
export const addressKnownTo = (viewer: Viewer, at: RawBuilder<unknown>) => sql<string | null>`
  case when ${userVisibleTo(viewer)} then users.email else coalesce(
    (select c.old_email from email_changes c where c.user_id = users.id and c.changed_at > ${at}
      order by c.changed_at, c.id limit 1),
    users.email) end`;

/** Rows with one of these addresses. A single one is compared as such, so that rows can be read in the order of an index. */
export const hasAddress = (column: string, addresses: readonly string[]): RawBuilder<boolean> =>
  addresses.length === 1
    ? condition`${sql.ref(column)} = ${addresses[0]}`
    : condition`${sql.ref(column)} = any(${[...addresses]}::varchar[])`;
