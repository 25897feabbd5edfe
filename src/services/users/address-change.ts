import type { User } from '../../../entities/user.ts';
import { EmailChange } from '../../../entities/user.ts';
import { clientIdsOf, condition, type Em, kysely } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { ofUser } from '../audit/audit.ts';
import { enqueueEmailMail } from '../mail/enqueue-mails.ts';
import type { Transaction } from '../unit-of-work.ts';

/** Days for which the old address can undo a change of it. */
export const UNDO_DAYS = 7;

type AddressChange = {
  user: User;
  to: string;
  action: 'user.change-email' | 'user.undo-email';
  actor: { id: number; email: string };
  /** The request that was confirmed. Without one, a change is added. */
  requestId?: number;
  /** Whether the old address gets a mail, and with a link that undoes the change or without: only the person's own change has one. */
  notice: 'undo' | 'plain' | 'none';
  /** Whether the mailbox of the new address has confirmed it. */
  isConfirmed: boolean;
  /** That of the request, for the mail. */
  ipAddress: string | null;
};

/**
 * Changes the address of a locked user.
 * - Unsent mails about the account get the new address.
 * - The usage log, sent mails and the audit trail stay as recorded: readers look for former addresses, too.
 * - Invitations stay with the address that was invited: a client that trusts one mailbox does not trust another.
 * - The old address stays the person's only if they change it themselves, and its mailbox was verified: otherwise it may be someone else's.
 * @throws the violation of the unique address
 */
export const changeAddress = async ({ tx, now, audit }: Transaction, change: AddressChange) => {
  const { user, to, actor, action, notice } = change;
  const from = user.email;
  const wasVerified = user.isEmailVerified;
  user.email = to;
  user.isEmailVerified = change.isConfirmed;
  user.emailSetAt = now;
  await tx.flush();
  const hasUndo = notice === 'undo';
  const isKept = hasUndo && wasVerified && (await isActor(tx, from));
  const undoUntil = hasUndo ? new Date(now.getTime() + UNDO_DAYS * DAY_MS) : null;
  const changeId = await recordChange(tx, change, {
    oldEmail: from,
    changedAt: now,
    wasVerified,
    isKept,
    undoUntil,
  });
  const clients = await clientIdsOf(tx, user.id);
  if (notice === 'plain') await failAccountMails(tx, user.id, now);
  await redirectMails(tx, user.id, { from, to });
  if (notice !== 'none') {
    const linked = hasUndo ? changeId : null;
    const mail = { userId: user.id, changeId: linked, recipient: from, now, address: change.ipAddress };
    await enqueueEmailMail(tx, 'email-changed', mail);
  }
  await audit.record(tx, [{ action, actor, target: ofUser(user), clients }]);
};

/** Whether the audit trail has anything that this address did. */
const isActor = async (tx: Em, email: string): Promise<boolean> => {
  const entries = kysely(tx).selectFrom('audit_entries').select('id').where('actor_label', '=', email);
  return (await entries.limit(1).executeTakeFirst()) !== undefined;
};

type Made = {
  oldEmail: string;
  changedAt: Date;
  wasVerified: boolean;
  isKept: boolean;
  undoUntil: Date | null;
};

const recordChange = async (tx: Em, { user, to, requestId, notice }: AddressChange, made: Made) => {
  const added = { user, newEmail: to, requestedAt: made.changedAt, isOwn: notice !== 'plain' };
  const change =
    requestId === undefined
      ? tx.create(EmailChange, { ...added, ...made })
      : tx.assign(await tx.findOneOrFail(EmailChange, requestId), made);
  await tx.flush();
  return change.id;
};

/** Of an account that is handed over: what waits to be said about it is not for the new holder. */
const failAccountMails = (tx: Em, userId: number, now: Date) =>
  kysely(tx)
    .updateTable('outbox_mails')
    .set({ failed_at: now, last_error: 'The account got another address.' })
    .where('user_id', '=', userId)
    .where('client_id', 'is', null)
    .where('sent_at', 'is', null)
    .where('failed_at', 'is', null)
    .where('kind', '<>', 'email-changed')
    .execute();

/** Links that were mailed to the old address end, and those that wait go to the new one. */
const redirectMails = async (tx: Em, userId: number, { from, to }: { from: string; to: string }) => {
  const db = kysely(tx);
  await db.deleteFrom('password_links').where('user_id', '=', userId).execute();
  await db
    .updateTable('outbox_mails')
    .set({ recipient: to })
    .where('user_id', '=', userId)
    .where('recipient', '=', from)
    .where('sent_at', 'is', null)
    .where('failed_at', 'is', null)
    .where('kind', '<>', 'email-changed')
    // What a client that they have left still has for them stays with the address that it knows.
    .where(
      condition`(client_id is null or exists (select from memberships m
        where m.user_id = ${userId} and m.client_id = outbox_mails.client_id))`,
    )
    .execute();
};

/** Ends the links that undo a change. Who trusts the account from now on trusts its present mailbox. */
export const endUndo = (tx: Em, userId: number) =>
  kysely(tx).updateTable('email_changes').set({ undo_until: null }).where('user_id', '=', userId).execute();

/** Lets the former addresses of an account, of changes after this one, not count as those of its holder. */
export const disownAddresses = (tx: Em, userId: number, afterChange = 0) =>
  kysely(tx)
    .updateTable('email_changes')
    .set({ is_disowned: true })
    .where('user_id', '=', userId)
    .where('id', '>', afterChange)
    .execute();
