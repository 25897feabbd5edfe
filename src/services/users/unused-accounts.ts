import { condition } from '../../db/kysely.ts';

/** SQL: whether nobody has ever logged in to a row of `users`. */
export const IS_UNUSED = condition`(users.last_login is null and users.password_hash is null)`;

/** SQL: whether a row of `users` was never used, and belongs to nobody any more. */
export const IS_ABANDONED = condition`(${IS_UNUSED} and not (users.is_staff or users.is_superuser)
  and not exists (select from memberships m where m.user_id = users.id)
  and not exists (select from provider_links l where l.user_id = users.id))`;
