import { sql } from 'kysely';
import { condition } from '../../db/kysely.ts';

/** SQL: whether a row of `users` has logged in with the present provider. Others need their password once, to connect the account. */
export const IS_CONNECTED = condition`exists (select from external_identities i
  join sso_connections c on c.id = i.connection_id and c.issuer = i.issuer where i.user_id = users.id)`;

/**
 * SQL: whether a row of `users` must not use a password, because their client requires its connection for their domain. Not those whom
 * no connection logs in: people who belong to several clients or have left one, superusers and staff. After a proof has lapsed, only those who can still log in with
 * the connection.
 */
export const REQUIRES_SSO = condition`(not (users.is_superuser or users.is_staff) and exists (
  select from memberships m
    join sso_connections c on c.client_id = m.client_id and c.is_active and c.is_required
    join client_domains d on d.client_id = m.client_id and d.verified_at is not null
  where m.user_id = users.id and m.is_active_member and users.shared_since is null
    and not exists (select from memberships o where o.user_id = users.id and o.client_id <> m.client_id)
    and d.domain = ${sql`split_part(users.email, '@', 2)`}
    and (d.lapsed_at is null or exists (
      select from external_identities i where i.user_id = users.id and i.connection_id = c.id and i.issuer = c.issuer))))`;
