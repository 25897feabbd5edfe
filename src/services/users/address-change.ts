import { type RawBuilder, sql } from 'kysely';
import type { User } from '../../../entities/user.ts';
import { clientIdsOf, condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import type { Audit, AuditAction } from '../audit/audit.ts';
import { enqueueEmailMail } from '../mail/enqueue-mails.ts';
import { moveUsageDays, usedApps } from '../usage/usage-days.ts';
import { lockUsage } from '../usage/usage-writes.ts';

/** Days for which the old address can undo a change of it. */
export const UNDO_DAYS = 7;

export type AddressChange = {
  user: User;
  to: string;
  action: AuditAction & `user.${string}`;
  actor: { email: string };
  /** The request that was confirmed. Without one, a change is added. */
  requestId?: number;
  /** Whether the person wants it. Otherwise invitations of clients that they do not belong to stay with the old address. */
  isOwn: boolean;
  /** Whether the old address gets a mail with which it can undo the change. */
  isUndoable: boolean;
  /** That of the request, for the mail. */
  address: string | null;
};

type Deps = { tx: Em; now: Date; audit: Audit };

/**
 * Gives a locked user another address, and all that follows the person with it: totals of usage, invitations, and mails that wait.
 * The usage log, sent mails and the audit trail keep what was recorded: readers ask for former addresses, too.
 * @throws the violation of the unique address
 */
export const changeAddress = async ({ tx, now, audit }: Deps, change: AddressChange): Promise<void> => {
  const { user, to, actor, action } = change;
  const from = user.email;
  // Writers of usage hold these until they commit, and see the change afterwards.
  const apps = await usedApps(tx, from);
  for (const appId of apps) await lockUsage(appId).execute(kysely(tx));
  user.email = to;
  await tx.flush();
  const isKept = apps.length > 0 || (await isActor(tx, from));
  const changeId = await recordChange(tx, { from, isKept, now }, change);
  await moveUsageDays(from, to).execute(kysely(tx));
  const clients = await clientIdsOf(tx, user.id);
  const invited = change.isOwn ? condition`true` : isAnyOf('client_id', clients, 'int');
  await moveInvitations(tx, { from, to, now, invited });
  await redirectMails(tx, user.id, { from, to, invited });
  if (change.isUndoable) {
    const mail = { userId: user.id, changeId, recipient: from, now, address: change.address };
    await enqueueEmailMail(tx, 'email-changed', mail);
  }
  await audit.record(tx, [{ action, actor, target: to, clients, details: { email: { from, to } } }]);
};

/** Whether the audit trail has anything that this address did. */
const isActor = async (tx: Em, email: string): Promise<boolean> => {
  const entries = kysely(tx).selectFrom('audit_entries').select('id').where('actor_email', '=', email);
  return (await entries.limit(1).executeTakeFirst()) !== undefined;
};

const recordChange = async (
  tx: Em,
  { from, isKept, now }: { from: string; isKept: boolean; now: Date },
  { user, to, requestId, isUndoable }: AddressChange,
): Promise<number> => {
  const db = kysely(tx);
  const made = {
    old_email: from,
    changed_at: now,
    is_kept: isKept,
    undo_until: isUndoable ? new Date(now.getTime() + UNDO_DAYS * DAY_MS) : null,
  };
  if (requestId === undefined) {
    const row = { ...made, user_id: user.id, new_email: to, requested_at: now };
    return (await db.insertInto('email_changes').values(row).returning('id').executeTakeFirstOrThrow()).id;
  }
  await db.updateTable('email_changes').set(made).where('id', '=', requestId).execute();
  return requestId;
};

/** Pending ones stay the person's own. If the same client has invited both addresses, only one invitation may be pending. */
type Moved = { from: string; to: string; invited: RawBuilder<boolean> };

const moveInvitations = (tx: Em, { from, to, now, invited }: Moved & { now: Date }) => {
  const isSecond = sql`(status = 'pending' and exists (select from invitations other
    where other.email = ${to} and other.client_id = invitations.client_id and other.status = 'pending'))`;
  return sql`
    update invitations set email = ${to}, status = case when ${isSecond} then 'revoked' else status end,
      closed_at = case when ${isSecond} then ${now}::timestamptz else closed_at end
    where email = ${from} and ${invited}`.execute(kysely(tx));
};

/** Links that were mailed to the old address end, and those that wait go to the new one. */
const redirectMails = async (tx: Em, userId: number, { from, to, invited }: Moved): Promise<void> => {
  const db = kysely(tx);
  await db.deleteFrom('password_links').where('user_id', '=', userId).execute();
  await db
    .updateTable('outbox_mails')
    .set({ recipient: to })
    .where('recipient', '=', from)
    .where(condition`(user_id = ${userId} or ${invited})`)
    .where('sent_at', 'is', null)
    .where('failed_at', 'is', null)
    .where('kind', '<>', 'email-changed')
    .execute();
};
