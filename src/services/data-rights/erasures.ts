import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { invalid } from '../../lib/problems.ts';
import { type Actor, requireRecentPassword } from '../access/actor.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { readAddresses } from '../users/addresses.ts';
import { eraseAccount, type LockedPerson, lockPerson } from './erase-account.ts';
import { finishErasures } from './erasure-work.ts';

/** How long a confirmation code is valid. */
const CODE_MS = 10 * MINUTE_MS;
/** How long a request waits for the rest of the work, which then continues in the background. */
const PATIENCE_MS = 5_000;

type Confirmation = { confirmation: string; confirm_email: string };

/** Erases people. Routers admit only superusers. */
export const createErasures = ({ em, clock, audit, idempotency, erasureKeys, ...unit }: UnitOfWork) => ({
  /**
   * Counts what would be replaced and deleted, and issues the code that `erase` asks for.
   * @throws Problem as `erase`, except `invalid-input` on the confirmation
   */
  preview: async (actor: Actor, email: string) => {
    requireRecentPassword(actor, clock.now());
    const person = await lockPerson(em, actor, email);
    const expiresAt = new Date(clock.now().getTime() + CODE_MS);
    const confirmation = erasureKeys.confirmation(subjectOf(actor, person), expiresAt);
    return { ...(await countRows(em, person)), confirmation, expires_at: expiresAt };
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
        requireRecentPassword(actor, now);
        const person = await lockPerson(tx, actor, email);
        if (!erasureKeys.isConfirmed(confirmation, subjectOf(actor, person), now))
          throw invalid({ confirmation: [EXPIRED] });
        const { addressDigest } = erasureKeys;
        const { erasure } = await eraseAccount({ tx, now, audit, addressDigest }, actor, person);
        return { pseudonym: erasure.pseudonym };
      }),
    );
    const patience = AbortSignal.timeout(PATIENCE_MS);
    const isFinished = await finishErasures(em, outcome.pseudonym, clock.now, patience);
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

/** The rows of the person. Usage comes from its totals: counting the log may take seconds. */
export const countRows = async (em: Em, { id, email }: Pick<LockedPerson, 'id' | 'email'>) => {
  const own = (table: string) =>
    sql<number>`(select count(*)::int from ${sql.table(table)} where user_id = ${id})`;
  const addresses = await readAddresses(em, id);
  const { rows } = await sql<Record<(typeof COUNTED)[number], number>>`select
    (select coalesce(sum(actions), 0)::int from usage_days where email = ${email}) as usage_entries,
    (select count(*)::int from audit_entries where actor_email = any(${addresses}::varchar[])
      or target = any(${addresses}::varchar[])) as audit_entries,
    (select count(*)::int from invitations where email = ${email}) as invitations_received,
    (select count(*)::int from invitations where inviter_id = ${id}) as invitations_sent,
    (select count(*)::int from outbox_mails where recipient = any(${addresses}::varchar[]) or user_id = ${id}) as mails,
    ${own('sessions')} as sessions, ${own('api_tokens')} as tokens, ${own('saved_filters')} as saved_filters,
    ${own('memberships')} as memberships, ${own('app_grants')} as app_grants`.execute(kysely(em));
  const [counts] = rows;
  if (!counts) throw new Error('A query without a table returns one row.');
  return counts;
};

export const COUNTED = [
  ...(['usage_entries', 'audit_entries', 'invitations_received', 'invitations_sent', 'mails'] as const),
  ...(['sessions', 'tokens', 'saved_filters', 'memberships', 'app_grants'] as const),
];
