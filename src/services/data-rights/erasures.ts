import { sql } from 'kysely';
import { condition, countIn, type Em, kysely } from '../../db/kysely.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { invalid } from '../../lib/problems.ts';
import { type Actor, requireRecentPassword } from '../access/actor.ts';
import type { IdempotencyKey } from '../idempotency/idempotency.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { hasAddress, readAllAddresses } from '../users/addresses.ts';
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

/** The names of clients that the person does not belong to, and that have recorded them. */
export const readOtherClients = async (em: Em, person: LockedPerson): Promise<string[]> => {
  const { present, verified } = await readAllAddresses(em, person.id);
  const isNamed = (column: string, at: string) => hasAddress(column, at, [...present, ...verified]);
  const isContact = (column: string) => sql`lower(${sql.ref(column)}) = ${person.email}`;
  const { rows } = await sql<{ name: string }>`
    select name from clients where id <> all(${person.clientIds}::int[]) and id in (
      select client_id from invitations where ${isNamed('email', 'date_invited')}
      union all select client_id from outbox_mails where ${isNamed('recipient', 'created_at')}
      union all select a.client_id from usage_days d join apps a on a.id = d.app_id where ${isNamed('d.email', 'd.day')}
      union all select unnest(client_ids) from audit_entries
        where ${isNamed('actor_email', 'occurred_at')} or ${isNamed('target', 'occurred_at')}
      union all select id from clients where ${isContact('support_email')} or ${isContact('default_from_email')})
    order by lower(name)`.execute(kysely(em));
  return rows.map(({ name }) => name);
};

/** The rows of the person. Usage comes from its totals: counting the log may take seconds. */
export const countRows = async (em: Em, { id, email }: Pick<LockedPerson, 'id' | 'email'>) => {
  const isOwn = condition`user_id = ${id}`;
  const { present, verified, unverified } = await readAllAddresses(em, id);
  const isNamed = (column: string, at: string) =>
    hasAddress(column, at, [...present, ...verified, ...unverified]);
  return kysely(em)
    .selectNoFrom([
      sql<number>`(select coalesce(sum(actions), 0)::int from usage_days where email = ${email})`.as(
        'usage_entries',
      ),
      countIn(
        'audit_entries',
        condition`${isNamed('actor_email', 'occurred_at')} or ${isNamed('target', 'occurred_at')}`,
      ).as('audit_entries'),
      countIn('invitations', isNamed('email', 'date_invited')).as('invitations_received'),
      countIn('invitations', condition`inviter_id = ${id}`).as('invitations_sent'),
      countIn('outbox_mails', condition`${isNamed('recipient', 'created_at')} or ${isOwn}`).as('mails'),
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
