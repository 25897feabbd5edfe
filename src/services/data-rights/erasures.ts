import { sql } from 'kysely';
import { condition, countIn, type Em, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { invalid } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession } from '../access/actor.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { countEntries, isUsageOf } from '../usage/usage-days.ts';
import { eraseAccount, finishErasures, type LockedPerson, lockPerson, readAddresses } from './erasure.ts';

/** How long a confirmation code is valid. */
const CODE_MS = 10 * MINUTE_MS;

type Confirmation = { confirmation: string; confirm_email: string };

/** Erases people. Routers admit only superusers. */
export const createErasures = ({ em, clock, audit, idempotency, erasureKeys, ...unit }: UnitOfWork) => ({
  /**
   * Counts the rows that would be replaced and deleted, and issues the code that `erase` requires.
   * @throws the problems of `erase`, except `invalid-input` on the confirmation
   */
  preview: async (actor: Actor, email: string) => {
    requireConfirmedSession(actor, clock.now());
    const person = await lockPerson(em, actor, email);
    const expiresAt = new Date(clock.now().getTime() + CODE_MS);
    const confirmation = erasureKeys.confirmation(subjectOf(actor, person), expiresAt);
    const counts = await countRows(em, person.id, await readAddresses(em, person));
    return { ...counts, confirmation, expires_at: expiresAt };
  },

  /**
   * Replaces a person by a pseudonym. Cannot be undone.
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
    const { pseudonym } = outcome;
    const signal = AbortSignal.timeout(unit.erasurePatienceMs);
    const isFinished = await finishErasures(em, clock, { pseudonym, signal });
    if (!isFinished) unit.resumeErasures();
    return { pseudonym, is_finished: isFinished };
  },
});

const EXPIRED = 'Is not valid, expired, or the person has changed since. Get a new code.';

/**
 * The caller who confirms, and the person as shown. Without logins and usage: they change so often that active people could never be
 * erased.
 */
const subjectOf = ({ id }: Actor, { last_login: _, ...person }: LockedPerson): string =>
  JSON.stringify([id, person]);

/** The number of rows of a person. @param id null for an address without an account */
export const countRows = async (em: Em, id: number | null, addresses: readonly string[]) => {
  const isOwn = condition`user_id = ${id}::int`;
  const isNamed = (column: string) =>
    condition`(${isOwn} or ${sql.ref(column)} = any(${[...addresses]}::varchar[]))`;
  const isAudited = condition`actor_id = ${id}::int or target_type = 'user' and target_id = ${id}::text`;
  return kysely(em)
    .selectNoFrom([
      countEntries('usage_days', isUsageOf(id, addresses)).as('usage_entries'),
      countIn('audit_entries', isAudited).as('audit_entries'),
      countIn('invitations', isNamed('email')).as('invitations_received'),
      countIn('invitations', condition`inviter_id = ${id}::int`).as('invitations_sent'),
      countIn('outbox_mails', isNamed('recipient')).as('mails'),
      countIn('sessions', isOwn).as('sessions'),
      countIn('api_tokens', isOwn).as('tokens'),
      countIn('saved_filters', isOwn).as('saved_filters'),
      countIn('memberships', isOwn).as('memberships'),
      countIn('app_grants', isOwn).as('app_grants'),
    ])
    .executeTakeFirstOrThrow();
};

export const COUNTED = [
  ...(['usage_entries', 'audit_entries', 'invitations_received', 'invitations_sent', 'mails'] as const),
  ...(['sessions', 'tokens', 'saved_filters', 'memberships', 'app_grants'] as const),
];
