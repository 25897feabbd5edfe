import { sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { HOUR_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import { tracing } from '../../lib/tracing.ts';
import type { Actor } from '../access/actor.ts';
import { clientVisibleTo, userVisibleTo } from '../access/visibility.ts';
import { createInvitationLifecycle } from '../invitations/invitation-lifecycle.ts';
import { findPending } from '../invitations/pending-invitation.ts';
import { isMailed } from '../mail/enqueue-mails.ts';
import type { Unit } from '../unit.ts';
import { lockUser } from '../users/user-locks.ts';

/** Password mails to one address in an hour that admins may cause. */
const MAILS_PER_HOUR = 5;
const RETRY_AFTER_SECONDS = 3_600;

/**
 * Mails a link to set the first or a new password, once per operation. An address that has no account yet gets its invitation
 * again.
 * @throws Problem `not-found`, `forbidden`, `account-inactive`, `ambiguous-invitation`, `throttled`
 */
export const sendPasswordLink = async (
  unit: Unit,
  actor: Actor,
  email: string,
  operationId: string,
): Promise<true> => {
  const { em, clock } = unit;
  if (await isInvited(em, actor, email)) {
    const { id } = await findPending(em, actor, { email, client: undefined, now: clock.now() });
    await createInvitationLifecycle(unit).resend(actor, id, operationId);
  } else await em.transactional((tx) => enqueuePasswordLink({ ...unit, em: tx }, actor, email, operationId));
  return true;
};

/** Whether the actor sees no user of this address, but may see a pending invitation. */
const isInvited = async (em: Db, actor: Actor, email: string): Promise<boolean> => {
  const user = tables(em).selectFrom('users').select('id').where('email', '=', email);
  if (await user.where(userVisibleTo(actor)).executeTakeFirst()) return false;
  const invitation = tables(em).selectFrom('invitations').select('id').where('status', '=', 'pending');
  const visible = invitation.where('email', '=', email).where(clientVisibleTo(actor, sql`client_id`));
  return (await visible.executeTakeFirst()) !== undefined;
};

const enqueuePasswordLink = async (
  { em: tx, clock, audit }: Unit,
  actor: Actor,
  email: string,
  operationId: string,
) => {
  const { user, clientIds: clients } = await lockUser(tx, actor, email);
  if (!user.isActive) throw new Problem('account-inactive');
  if (await isMailed(tx, operationId, { recipient: email })) return;
  const now = clock.now();
  await requireFewMails(tx, email, now);
  const { rows } = await sql<{ kind: string }>`
    insert into outbox_mails (kind, recipient, user_id, operation_id, created_at, next_attempt_at, traceparent)
    select kind, email, case kind when 'password-setup' then id end, ${operationId}, ${now}::timestamptz,
      ${now}::timestamptz, ${tracing.traceparent()}::varchar
    from (select *, case when password_hash is null then 'password-setup' else 'password-reset' end as kind
      from users where id = ${user.id}::int) as person
    returning kind`.execute(tables(tx));
  const details = { kind: rows[0]?.kind };
  await audit.record(tx, [{ action: 'password.request-reset', actor, target: email, clients, details }]);
};

/** @throws Problem `throttled` */
const requireFewMails = async (tx: Db, email: string, now: Date): Promise<void> => {
  const { count } = await tables(tx)
    .selectFrom('outbox_mails')
    .select(sql<number>`count(*)`.as('count'))
    .where(sql<boolean>`kind in ('password-setup', 'password-reset')`)
    .where('recipient', '=', email)
    .where('created_at', '>', new Date(now.getTime() - HOUR_MS))
    .executeTakeFirstOrThrow();
  if (count < MAILS_PER_HOUR) return;
  const detail = `${email} was mailed ${MAILS_PER_HOUR} password links within an hour. Try again in an hour.`;
  throw new Problem('throttled', { detail, retryAfterSeconds: RETRY_AFTER_SECONDS });
};
