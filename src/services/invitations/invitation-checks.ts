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
/** One element of the input: its value, or null, and the validation errors. */
export type InvitationElement = { value: InvitationInput | null; faults: FieldErrors };
/** A valid element with its client resolved. `appsByAge` are its `initial_apps` in the order of responses. */
export type CheckedInvitation = InvitationInput & { client: number; appsByAge: string[] };

/** Bounds the size of the error response. */
const MAX_FAULTS = 1_000;

/**
 * Checks all elements with three statements and reports all errors together, as `items.{index}.{field}`. For a client that
 * the actor does not manage, only the client error is reported: other errors could reveal that client's apps and users.
 * @throws Problem `invalid-input`
 */
export const checkInvitations = async (em: Db, actor: Actor, elements: readonly InvitationElement[]) => {
  const ownClient = soleAdminClient(actor);
  const named = elements.map(({ value }) =>
    value && value.client === undefined ? { ...value, client: ownClient } : value,
  );
  const known = await readKnown(
    em,
    actor,
    named.filter((value) => value !== null),
  );
  const fields = new Map<string, string[]>();
  const checked: CheckedInvitation[] = [];

  for (const [index, { faults }] of elements.entries()) {
    const value = named[index];
    const all = value ? { ...faults, ...faultsOf(value, index, known) } : faults;
    if (value?.client !== undefined)
      checked.push({ ...value, client: value.client, appsByAge: byAge(value.initial_apps, known) });
    for (const [field, messages] of Object.entries(all)) fields.set(`items.${index}.${field}`, messages);
    if (fields.size >= MAX_FAULTS) break;
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
  const foreign = initial_apps.filter((id) => apps.get(id)?.client !== client);
  if (foreign.length > 0) {
    faults.initial_apps = foreign.slice(0, 10).map((id) => `This client has no app ${id}.`);
  }
  return faults;
};

const byAge = (ids: readonly string[], { apps }: Known): string[] =>
  ids.toSorted((a, b) => (apps.get(a)?.position ?? 0) - (apps.get(b)?.position ?? 0));

/**
 * The named clients that the actor manages; of these, the named apps, with their position by age, and active members as
 * `{client id} {email}`.
 */
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
    .select(['client_id', 'id'])
    .where(sql<boolean>`id = any(${[...new Set(visible.flatMap((item) => item.initial_apps))]}::varchar[])`)
    .where(isManaged)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const members = await db
    .selectFrom('users')
    .innerJoin('memberships', 'memberships.user_id', 'users.id')
    .select(['client_id', 'email'])
    .where('is_active', '=', true)
    .where(isManaged)
    .where(sql<boolean>`email = any(${visible.map((item) => item.email)}::varchar[])`)
    .execute();
  return {
    clients,
    apps: new Map(apps.map(({ id, client_id: client }, position) => [id, { client, position }])),
    members: new Set(members.map(({ client_id, email }) => `${client_id} ${email}`)),
    /** Email → index of the first element that invites it. */
    firstOf: new Map<string, number>(),
  };
};
