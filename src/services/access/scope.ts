import { type RawBuilder, sql } from 'kysely';
import { type Condition, condition } from '../../db/kysely.ts';
import { scopeRequired } from '../../lib/problems.ts';
import type { ActionScope } from './action-scopes.ts';
import { MEMBER, type Roles, rolesIn } from './permissions.ts';

/**
 * Where and for what a credential counts. A scope can only narrow the person's access.
 * - `only`: the client to which the credential is confined, for example because its session began at the client's identity provider; null:
 * none
 * - `hidden`: clients of the person that require their own identity provider, with which this credential did not begin
 * - `actions`: the scopes of a token; null: all
 */
export type Scope = {
  readonly only: number | null;
  readonly hidden: readonly number[];
  readonly actions: readonly string[] | null;
};

export const EVERYWHERE: Scope = { only: null, hidden: [], actions: null };

export const hasScope = ({ actions }: Scope, needed: ActionScope): boolean =>
  actions === null || actions.includes(needed);

/** @throws Problem `insufficient-scope` */
export const requireScope = (scope: Scope, ...needed: readonly ActionScope[]): void => {
  for (const one of needed) if (!hasScope(scope, one)) throw scopeRequired(one);
};

/** Whether the memberships of the person in this client count. */
export const isWithin = ({ only, hidden }: Scope, clientId: number): boolean =>
  (only === null || only === clientId) && !hidden.includes(clientId);

/** SQL: `isWithin`. */
export const isInScope = ({ only, hidden }: Scope, clientId: RawBuilder<unknown>): Condition => {
  const isOnly = only === null ? condition`true` : condition`${clientId} = ${only}`;
  return hidden.length === 0 ? isOnly : condition`(${isOnly} and ${clientId} <> all(${[...hidden]}::int[]))`;
};

/** The roles that count: roles in clients of the scope, and, unless the scope is confined to a client, roles in all clients. */
export const narrow = (roles: Roles, scope: Scope): Roles => ({
  ...(scope.only === null ? roles : MEMBER),
  inClients: rolesIn(roles, (id) => isWithin(scope, id)).inClients,
});

/**
 * SQL: the scope of a row of `api_tokens` or `sessions`, joined with `users`. A client's requirement does not apply to superusers.
 */
export const scopeColumns = (table: 'api_tokens' | 'sessions') => {
  const connection = sql.ref(`${table}.connection_id`);
  const isToken = table === 'api_tokens';
  const own = isToken ? sql`api_tokens.client_id` : sql`null`;
  return [
    sql<
      number | null
    >`coalesce(${own}, (select c.client_id from sso_connections c where c.id = ${connection}))`.as('only'),
    sql<string[] | null>`${isToken ? sql`api_tokens.scopes` : sql`null::text[]`}`.as('actions'),
    sql<number[]>`case when not users.is_superuser then array(
      select m.client_id from memberships m join sso_connections c on c.client_id = m.client_id and c.is_active and c.is_required
      where m.user_id = users.id and c.id is distinct from ${connection} order by m.client_id) else '{}' end`.as(
      'hidden',
    ),
  ] as const;
};
