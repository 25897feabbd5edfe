import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { type FieldErrors, invalid } from '../../lib/problems.ts';
import { type Actor, soleAdminClient } from '../access/actor.ts';
import { clientManagedBy } from '../access/visibility.ts';

export type InvitationInput = {
  email: string;
  client?: number | undefined;
  extra?: Record<string, unknown> | undefined;
  initial_apps: string[];
  is_demo_user?: boolean | undefined;
};
/** One element of the input: its value, or null and the validation errors. */
export type InvitationElement = { value: InvitationInput | null; faults: FieldErrors };
/** A valid element with its client resolved. */
export type CheckedInvitation = InvitationInput & { client: number };

/** Bounds the size of the error response. */
const MAX_FAULTS = 1_000;

/**
 * Checks all elements with three statements and reports all errors together, as `items.{index}.{field}`. For a client that
 * the actor does not manage, only the client error is reported: other errors could reveal that client's apps and users.
 * @throws Problem `invalid-input`
 */
export const checkInvitations = async (
  em: SqlEntityManager,
  actor: Actor,
  elements: readonly InvitationElement[],
): Promise<CheckedInvitation[]> => {
  const items = elements.flatMap(({ value }) => (value ? { ...value, client: clientOf(actor, value) } : []));
  const clients = await manageableClients(em, actor, items);
  const manageable = items.filter(({ client }) => client !== undefined && clients.has(client));
  const known = {
    clients,
    apps: await namedApps(em, clients, manageable),
    members: await activeMembers(em, clients, manageable),
    firstOf: new Map<string, number>(),
  };
  const fields: FieldErrors = {};
  const checked: CheckedInvitation[] = [];

  for (const [index, { value, faults }] of elements.entries()) {
    const client = value ? clientOf(actor, value) : undefined;
    const all = value ? { ...faults, ...faultsOf(value, client, index, known) } : faults;
    if (value && client !== undefined) checked.push({ ...value, client });
    for (const [field, messages] of Object.entries(all)) fields[`items.${index}.${field}`] = messages;
    if (Object.keys(all).length > 0 && Object.keys(fields).length >= MAX_FAULTS) break;
  }
  if (Object.keys(fields).length > 0) throw invalid(fields);
  return checked;
};

const clientOf = (actor: Actor, { client }: InvitationInput): number | undefined =>
  client ?? soleAdminClient(actor);

type Known = {
  /** App id → client id. */
  apps: Map<string, number>;
  clients: Set<number>;
  members: Set<string>;
  /** Email → index of the first element that invites it. */
  firstOf: Map<string, number>;
};

const faultsOf = (
  item: InvitationInput,
  client: number | undefined,
  index: number,
  { apps, clients, members, firstOf }: Known,
): FieldErrors => {
  const firstIndex = firstOf.get(item.email);
  if (firstIndex === undefined) firstOf.set(item.email, index);
  if (client === undefined) return { client: ['`client` is required.'] };
  if (!clients.has(client)) return { client: [`You cannot invite to client ${client}.`] };

  const faults: FieldErrors = {};
  if (firstIndex !== undefined) faults.email = [`Element ${firstIndex} already invites this address.`];
  if (members.has(`${client} ${item.email}`)) {
    faults.email = ['An active user of this client already has this address.'];
  }
  const foreign = item.initial_apps.filter((id) => apps.get(id) !== client);
  if (foreign.length > 0) {
    faults.initial_apps = foreign.slice(0, 10).map((id) => `This client has no app ${id}.`);
  }
  return faults;
};

/** The requested apps that belong to these clients. */
const namedApps = async (
  em: SqlEntityManager,
  clients: ReadonlySet<number>,
  items: readonly InvitationInput[],
): Promise<Map<string, number>> => {
  const ids = [...new Set(items.flatMap((item) => item.initial_apps))];
  const rows = await tables(em)
    .selectFrom('apps')
    .select(['id', 'client_id'])
    .where(sql<boolean>`id = any(${ids}::varchar[])`)
    .where(sql<boolean>`client_id = any(${[...clients]}::int[])`)
    .execute();
  return new Map(rows.map((row) => [row.id, row.client_id]));
};

const manageableClients = async (em: SqlEntityManager, actor: Actor, items: readonly InvitationInput[]) => {
  const ids = [...new Set(items.flatMap((item) => item.client ?? []))];
  const rows = await tables(em)
    .selectFrom('clients')
    .select('id')
    .where(sql<boolean>`id = any(${ids}::int[])`)
    .where(clientManagedBy(actor, sql`id`))
    .execute();
  return new Set(rows.map((row) => row.id));
};

/** Active users as `{client id} {email}`. */
const activeMembers = async (
  em: SqlEntityManager,
  clients: ReadonlySet<number>,
  items: readonly InvitationInput[],
): Promise<Set<string>> => {
  const rows = await tables(em)
    .selectFrom('users')
    .innerJoin('memberships', 'memberships.user_id', 'users.id')
    .select(['client_id', 'email'])
    .where('is_active', '=', true)
    .where(sql<boolean>`client_id = any(${[...clients]}::int[])`)
    .where(sql<boolean>`email = any(${items.map((item) => item.email)}::varchar[])`)
    .execute();
  return new Set(rows.map((row) => `${row.client_id} ${row.email}`));
};
