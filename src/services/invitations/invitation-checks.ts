import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
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
export const checkInvitations = async (em: Db, actor: Actor, elements: readonly InvitationElement[]) => {
  const named = elements.map(({ value, faults }) => ({
    value: value && { ...value, client: value.client ?? soleAdminClient(actor) },
    faults,
  }));
  const known = await readKnown(
    em,
    actor,
    named.flatMap(({ value }) => value ?? []),
  );
  const fields = new Map<string, string[]>();
  const checked: CheckedInvitation[] = [];

  for (const [index, { value, faults }] of named.entries()) {
    const all = value ? { ...faults, ...faultsOf(value, index, known) } : faults;
    if (value?.client !== undefined) checked.push({ ...value, client: value.client });
    for (const [field, messages] of Object.entries(all)) fields.set(`items.${index}.${field}`, messages);
    if (Object.keys(all).length > 0 && fields.size >= MAX_FAULTS) break;
  }
  if (fields.size > 0) throw invalid(Object.fromEntries(fields));
  return checked;
};

type Known = Awaited<ReturnType<typeof readKnown>>;

const faultsOf = (
  { client, email, initial_apps }: InvitationInput,
  index: number,
  { apps, clients, members, firstOf }: Known,
): FieldErrors => {
  const firstIndex = firstOf.get(email);
  if (firstIndex === undefined) firstOf.set(email, index);
  if (client === undefined) return { client: ['`client` is required.'] };
  if (!clients.has(client)) return { client: [`You cannot invite to client ${client}.`] };

  const faults: FieldErrors = {};
  if (firstIndex !== undefined) faults.email = [`Element ${firstIndex} already invites this address.`];
  if (members.has(`${client} ${email}`)) {
    faults.email = ['An active user of this client already has this address.'];
  }
  const foreign = initial_apps.filter((id) => !apps.has(`${client} ${id}`));
  if (foreign.length > 0) {
    faults.initial_apps = foreign.slice(0, 10).map((id) => `This client has no app ${id}.`);
  }
  return faults;
};

/** The named clients that the actor manages; of these, the named apps and active members as `{client id} {id or email}`. */
const readKnown = async (em: Db, actor: Actor, items: readonly InvitationInput[]) => {
  const db = tables(em);
  const named = [...new Set(items.flatMap(({ client }) => client ?? []))];
  const managed = await db
    .selectFrom('clients')
    .select('id')
    .where(sql<boolean>`id = any(${named}::int[])`)
    .where(clientManagedBy(actor, sql`id`))
    .execute();
  const clients = new Set(managed.map(({ id }) => id));
  const visible = items.filter(({ client }) => client !== undefined && clients.has(client));
  const isManaged = sql<boolean>`client_id = any(${[...clients]}::int[])`;

  const apps = await db
    .selectFrom('apps')
    .select(['client_id', 'id as key'])
    .where(sql<boolean>`id = any(${[...new Set(visible.flatMap((item) => item.initial_apps))]}::varchar[])`)
    .where(isManaged)
    .execute();
  const members = await db
    .selectFrom('users')
    .innerJoin('memberships', 'memberships.user_id', 'users.id')
    .select(['client_id', 'email as key'])
    .where('is_active', '=', true)
    .where(isManaged)
    .where(sql<boolean>`email = any(${visible.map((item) => item.email)}::varchar[])`)
    .execute();
  /** Email → index of the first element that invites it. */
  const firstOf = new Map<string, number>();
  return { clients, apps: new Set(apps.map(inClient)), members: new Set(members.map(inClient)), firstOf };
};

const inClient = ({ client_id, key }: { client_id: number; key: string }): string => `${client_id} ${key}`;
