import { sql } from 'kysely';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { invalid } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { clientManagedBy } from '../access/visibility.ts';
import { domainOf, isProved } from './domains.ts';

/**
 * Of the domains of these addresses, those whose people only another client may add: it has proved them, and logs their people in with its
 * active connection. An account that others make of such an address would belong to them, so that its person could not log in with the
 * connection. Says no more than the login page, which leads these addresses to the connection.
 */
export const findReservedDomains = async (
  em: Em,
  actor: Actor,
  emails: readonly string[],
): Promise<ReadonlySet<string>> => {
  const rows = await reservedAmong(em, emails)
    .where(condition`not ${clientManagedBy(actor, sql`c.client_id`)}`)
    .execute();
  return new Set(rows.map(({ domain }) => domain));
};

/** The domains of these addresses that a client `c` has proved, and whose people it logs in. */
const reservedAmong = (em: Em, emails: readonly string[]) =>
  kysely(em)
    .selectFrom('client_domains')
    .innerJoin('sso_connections as c', 'c.client_id', 'client_domains.client_id')
    .select('client_domains.domain')
    .where(isAnyOf('client_domains.domain', new Set(emails.map(domainOf)), 'varchar'))
    .where(isProved)
    .where('c.is_active', '=', true);

type Invited = { email: string; client_id: number; inviter_id: number };

/** Whether the address of an invitation is reserved by now for people of another client, of which the inviter is no admin. */
export const isInvitedElsewhere = async (
  em: Em,
  { email, client_id: client, inviter_id: inviter }: Invited,
): Promise<boolean> => {
  const reserved = reservedAmong(em, [email])
    .where('c.client_id', '<>', client)
    .where(condition`not exists (select from users where users.id = ${inviter} and (users.is_superuser
      or exists (select from memberships m where m.user_id = users.id and m.client_id = c.client_id and m.is_admin)))`);
  return (await reserved.limit(1).executeTakeFirst()) !== undefined;
};

/** What is wrong with an address of such a domain. */
export const reservedAddress = (email: string): string =>
  `Another organization logs in the people of ${domainOf(email)} with single sign-on. Only its admins and superusers can add them.`;

/** @throws Problem `invalid-input` on this field */
export const requireUnreserved = async (
  em: Em,
  actor: Actor,
  email: string,
  field: string,
): Promise<void> => {
  const reserved = await findReservedDomains(em, actor, [email]);
  if (reserved.has(domainOf(email))) throw invalid({ [field]: [reservedAddress(email)] });
};
