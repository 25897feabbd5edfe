import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { type FieldErrors, invalid } from '../core/problems.ts';
import type { Actor } from './actor.ts';
import { inChangedClients, tables } from './tables.ts';

export type InvitationInput = {
  email: string;
  client?: number | undefined;
  extra?: Record<string, unknown> | undefined;
  initial_apps: string[];
  is_demo_user?: boolean | undefined;
};
/** An element that broke no rule, with the client it turned out to be for. */
export type CheckedInvitation = InvitationInput & { client: number };

/**
 * Checks all elements and reports every fault at once, by `items.{index}.{field}`. Three statements, whatever
 * the number of elements.
 * @throws Problem `invalid-input`
 */
export const checkInvitations = async (
  em: SqlEntityManager,
  actor: Actor,
  items: readonly InvitationInput[],
): Promise<CheckedInvitation[]> => {
  const fields: FieldErrors = {};
  const fault = (index: number, field: string, message: string): void => {
    const path = `items.${index}.${field}`;
    fields[path] = [...(fields[path] ?? []), message];
  };
  const [onlyOffice, ...moreOffices] = actor.adminOf;
  const ownClient = moreOffices.length === 0 ? onlyOffice : undefined;

  const clientOfApp = await appClients(em, items);
  const clients = await changeableClients(em, actor, items);
  const members = await activeMembers(em, items);
  const firstOf = new Map<string, number>();
  const checked: CheckedInvitation[] = [];

  for (const [index, item] of items.entries()) {
    const twin = firstOf.get(item.email);
    if (twin === undefined) firstOf.set(item.email, index);
    else fault(index, 'email', `Element ${twin} invites this address already.`);

    const client = item.client ?? ownClient;
    if (client === undefined) {
      fault(index, 'client', 'Name the client that the invitation is for.');
      continue;
    }
    if (!clients.has(client) && client !== ownClient) {
      fault(index, 'client', `There is no client ${client} that you may invite to.`);
      continue;
    }
    const foreign = item.initial_apps.filter((id) => clientOfApp.get(id) !== client);
    for (const id of foreign) fault(index, 'initial_apps', `There is no app ${id} of this client.`);
    if (members.has(`${client} ${item.email}`)) {
      fault(index, 'email', 'An active user of this client has this address already.');
    }
    checked.push({ ...item, client });
  }
  if (Object.keys(fields).length > 0) throw invalid(fields);
  return checked;
};

/** Every app that is named, whoever's it is: belonging to the invitation's client is what is asked of it. */
const appClients = async (
  em: SqlEntityManager,
  items: readonly InvitationInput[],
): Promise<Map<string, number>> => {
  const ids = [...new Set(items.flatMap((item) => item.initial_apps))];
  const rows = await tables(em)
    .selectFrom('apps')
    .select(['id', 'client_id'])
    .where(sql<boolean>`id = any(${ids}::varchar[])`)
    .execute();
  return new Map(rows.map((row) => [row.id, row.client_id]));
};

const changeableClients = async (
  em: SqlEntityManager,
  actor: Actor,
  items: readonly InvitationInput[],
): Promise<Set<number>> => {
  const ids = [...new Set(items.flatMap((item) => item.client ?? []))];
  const rows = await tables(em)
    .selectFrom('clients')
    .select('id')
    .where(sql<boolean>`id = any(${ids}::int[])`)
    .where(inChangedClients(actor, sql`id`))
    .execute();
  return new Set(rows.map((row) => row.id));
};

/** As `{client id} {email}`. */
const activeMembers = async (
  em: SqlEntityManager,
  items: readonly InvitationInput[],
): Promise<Set<string>> => {
  const rows = await tables(em)
    .selectFrom('users')
    .innerJoin('memberships', 'memberships.user_id', 'users.id')
    .select(['client_id', 'email'])
    .where('is_active', '=', true)
    .where(sql<boolean>`email = any(${items.map((item) => item.email)}::varchar[])`)
    .execute();
  return new Set(rows.map((row) => `${row.client_id} ${row.email}`));
};
