import { type RawBuilder, sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { hasAddress, type PersonAddress, readAllAddresses } from '../users/addresses.ts';
import { isContact } from './erased-rows.ts';

/**
 * An address of a person. `clientIds`: the clients in whose rows an erasure replaces it; null: in all. `clients`: those of the person that
 * had them under it.
 */
export type ErasedAddress = PersonAddress & { clientIds: number[] | null; clients: number[] };

type Person = { id: number; clientIds: readonly number[]; is_staff: boolean; is_superuser: boolean };

/**
 * All addresses of a person, and where an erasure replaces them. An admin may have entered the address of someone else: one whose
 * mailbox was never verified is replaced only in clients of the person, the present one also where the account was used.
 */
export const readErasedAddresses = async (em: Em, person: Person) => {
  const addresses = await readAllAddresses(em, person.id);
  const [present] = addresses.present;
  if (!present) throw new Error('A person has an address.');
  // Only superusers give these roles.
  const isTrusted = present.isVerified || person.is_staff || person.is_superuser;
  const used = isTrusted ? [] : await clientsUsedBy(em, person.id);
  const own: ErasedAddress = {
    ...present,
    clientIds: isTrusted ? null : [...new Set([...person.clientIds, ...used])],
  };
  const former: ErasedAddress[] = [
    ...addresses.verified.map((held) => ({ ...held, clientIds: null })),
    ...addresses.unverified.map((held) => ({ ...held, clientIds: held.clients })),
  ];
  return { present: own, former };
};

/** Clients in which the account did something. */
const clientsUsedBy = async (em: Em, userId: number): Promise<number[]> => {
  const used = kysely(em)
    .selectFrom('audit_entries')
    .select(({ fn }) => fn<number>('unnest', ['client_ids']).as('id'))
    .where('actor_id', '=', userId);
  return (await used.distinct().execute()).map(({ id }) => id);
};

/** SQL: the ids of clients that have recorded an address while it was the person's. */
const recordedBy = (address: PersonAddress): RawBuilder<unknown> => {
  const isNamed = (column: string, at: string) => hasAddress(column, at, [address]);
  // Contacts have no time.
  const isNow = (column: string) => (address.until ? condition`false` : isContact(column, address.email));
  return sql`
    select client_id from invitations where ${isNamed('email', 'date_invited')}
    union all select client_id from outbox_mails where ${isNamed('recipient', 'created_at')}
    union all select a.client_id from usage_days d join apps a on a.id = d.app_id where ${isNamed('d.email', 'd.day')}
    union all select id from clients where ${isNow('support_email')} or ${isNow('default_from_email')}`;
};

/**
 * The clients that know that an address is the person's or have recorded it: their later records of it get the pseudonym. To others, the
 * pseudonym would say that the address was erased.
 */
export const readKnownTo = async (em: Em, address: ErasedAddress): Promise<number[]> => {
  if (address.clientIds) return address.clientIds;
  const clients = kysely(em)
    .selectFrom('clients')
    .select('id')
    .where(condition`(id = any(${address.clients}::int[]) or id in (${recordedBy(address)}))`);
  return (await clients.execute()).map(({ id }) => id);
};

/** The names of clients that the person does not belong to, and in whose rows an erasure replaces them. */
export const readOtherClients = async (em: Em, person: Person): Promise<string[]> => {
  const { present, former } = await readErasedAddresses(em, person);
  const isReplaced = [present, ...former].map(
    (address) => sql`(id in (${recordedBy(address)})
      and ${address.clientIds ? sql`id = any(${address.clientIds}::int[])` : sql`true`})`,
  );
  const clients = kysely(em)
    .selectFrom('clients')
    .select('name')
    .where(condition`id <> all(${person.clientIds}::int[]) and (${sql.join(isReplaced, sql` or `)})`)
    .orderBy(sql`lower(name)`);
  return (await clients.execute()).map(({ name }) => name);
};
