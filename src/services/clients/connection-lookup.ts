import { condition, type Em, kysely } from '../../db/kysely.ts';

/** SQL: whether a row of `client_domains` has a valid proof. */
export const isProved = condition`(client_domains.verified_at is not null and client_domains.lapsed_at is null)`;

/**
 * SQL: whether a row of `users` must not log in with a password: all clients of the user require their own identity providers, so the
 * session would show nothing.
 */
export const REQUIRES_SSO = condition`(not (users.is_superuser or users.is_staff) and exists (
    select from memberships m where m.user_id = users.id and m.is_active_member)
  and not exists (select from memberships m where m.user_id = users.id and m.is_active_member and not exists (
    select from sso_connections c where c.client_id = m.client_id and c.is_active and c.is_required)))`;

/** The part of a normalized email address after the `@`; empty for other texts. */
export const domainOf = (email: string): string => /@([^@]*)$/.exec(email)?.[1] ?? '';

/** Active connections, by the domains of their clients. */
export const connectionsByDomain = (em: Em) =>
  kysely(em)
    .selectFrom('client_domains')
    .innerJoin('sso_connections as c', (join) =>
      join.on(condition`c.client_id is not distinct from client_domains.client_id`),
    )
    .select(['c.id', 'c.name'])
    .where('c.is_active', '=', true)
    .where('client_domains.verified_at', 'is not', null)
    // A lapsed proof counts as long as no other client has a valid one.
    .where(
      condition`(${isProved} or not exists (select from client_domains other where other.domain = client_domains.domain
        and other.verified_at is not null and other.lapsed_at is null))`,
    );

/** The active connection of a client to which this address leads; undefined if there is none. */
export const findConnectionFor = (em: Em, clientId: number, email: string) =>
  kysely(em)
    .selectFrom('sso_connections as c')
    .innerJoin('client_domains', 'client_domains.client_id', 'c.client_id')
    .select(['c.id', 'c.name', 'c.is_required'])
    .where('c.client_id', '=', clientId)
    .where('c.is_active', '=', true)
    .where('client_domains.domain', '=', domainOf(email))
    .where(isProved)
    .executeTakeFirst();
