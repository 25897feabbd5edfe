import { type RawBuilder, sql } from 'kysely';
import { condition, countIn, type Em, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { invalid } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession } from '../access/actor.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { countEntries, isUsageOf } from '../usage/usage-days.ts';
import { hasAddress } from '../users/addresses.ts';
import { eraseAccount, type LockedPerson, lockPerson } from './erase-account.ts';
import { type ErasedAddress, readErasedAddresses, readOtherClients } from './erased-addresses.ts';
import { finishErasures } from './erasure-work.ts';

/** How long a confirmation code is valid. */
const CODE_MS = 10 * MINUTE_MS;

type Confirmation = { confirmation: string; confirm_email: string };

/** Erases people. Routers admit only superusers. */
export const createErasures = ({ em, clock, audit, idempotency, erasureKeys, ...unit }: UnitOfWork) => ({
  /**
   * Counts what would be replaced and deleted, and issues the code that `erase` asks for.
   * @throws Problem as `erase`, except `invalid-input` on the confirmation
   */
  preview: async (actor: Actor, email: string) => {
    requireConfirmedSession(actor, clock.now());
    const person = await lockPerson(em, actor, email);
    const expiresAt = new Date(clock.now().getTime() + CODE_MS);
    const confirmation = erasureKeys.confirmation(subjectOf(actor, person), expiresAt);
    const other_clients = await readOtherClients(em, person);
    return { ...(await countRows(em, person)), other_clients, confirmation, expires_at: expiresAt };
  },

  /**
   * Replaces a person by a pseudonym everywhere. Cannot be undone.
   * @throws Problem `not-found`, `self-modification`, `last-superuser`, `reauthentication-required`, `invalid-input` on
   * `confirm_email`, `confirmation`
   */
  erase: async (
    actor: Actor,
    email: string,
    { confirmation, confirm_email: again }: Confirmation,
    idempotencyKey: IdempotencyKey | null,
  ) => {
    if (again !== email)
      throw invalid({ confirm_email: ['Must be the email address of the person in the path.'] });
    const request = { actor, idempotencyKey, operation: 'users.erase', input: [email, confirmation] };
    const outcome = await idempotency.runOnce<{ pseudonym: string }>(request, (write) =>
      write(async (tx) => {
        const now = clock.now();
        requireConfirmedSession(actor, now);
        const person = await lockPerson(tx, actor, email);
        if (!erasureKeys.isConfirmed(confirmation, subjectOf(actor, person), now))
          throw invalid({ confirmation: [EXPIRED] });
        const { addressDigest } = erasureKeys;
        return { pseudonym: await eraseAccount({ tx, now, audit, addressDigest }, actor, person) };
      }),
    );
    const patience = AbortSignal.timeout(unit.erasurePatienceMs);
    const isFinished = await finishErasures(em, outcome.pseudonym, clock, patience);
    if (!isFinished) unit.resumeErasures();
    return { pseudonym: outcome.pseudonym, is_finished: isFinished };
  },
});

const EXPIRED = 'Is not valid, expired, or the person has changed since. Get a new code.';

/**
 * The caller who confirms, and the person as they were shown. Logins and usage are left out: they change so often that
 * active people could never be erased.
 */
const subjectOf = ({ id }: Actor, { last_login: _, ...person }: LockedPerson): string =>
  JSON.stringify([id, person]);

/** The rows of the person. */
export const countRows = async (em: Em, person: CountedPerson) => {
  const { id } = person;
  const isOwn = condition`user_id = ${id}`;
  const { present, former } = await readErasedAddresses(em, person);
  const isNamed = (column: string, at: string, isOf: OfClients) =>
    condition`(${sql.join(
      [present, ...former].map((address) => isReplaced(column, at, address, isOf)),
      sql` or `,
    )})`;
  const ofClient: OfClients = (ids) => sql`client_id = any(${ids}::int[])`;
  return kysely(em)
    .selectNoFrom([
      countEntries('usage_days', isUsageOf(id, [present.email])).as('usage_entries'),
      countIn(
        'audit_entries',
        condition`actor_id = ${id} or (target_type = 'user' and target_id = ${String(id)})`,
      ).as('audit_entries'),
      countIn('invitations', isNamed('email', 'date_invited', ofClient)).as('invitations_received'),
      countIn('invitations', condition`inviter_id = ${id}`).as('invitations_sent'),
      countIn('outbox_mails', condition`${isNamed('recipient', 'created_at', ofClient)} or ${isOwn}`).as(
        'mails',
      ),
      countIn('sessions', isOwn).as('sessions'),
      countIn('api_tokens', isOwn).as('tokens'),
      countIn('saved_filters', isOwn).as('saved_filters'),
      countIn('memberships', isOwn).as('memberships'),
      countIn('app_grants', isOwn).as('app_grants'),
    ])
    .executeTakeFirstOrThrow();
};

type CountedPerson = Parameters<typeof readErasedAddresses>[1];

/** SQL: rows of these clients. */
type OfClients = (clientIds: readonly number[]) => RawBuilder<unknown>;

const isReplaced = (column: string, at: string, address: ErasedAddress, isOf: OfClients) =>
  address.clientIds
    ? condition`(${hasAddress(column, at, [address])} and ${isOf(address.clientIds)})`
    : hasAddress(column, at, [address]);

export const COUNTED = [
  ...(['usage_entries', 'audit_entries', 'invitations_received', 'invitations_sent', 'mails'] as const),
  ...(['sessions', 'tokens', 'saved_filters', 'memberships', 'app_grants'] as const),
];
