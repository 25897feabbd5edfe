import { EmailChange, type User } from '../../../entities/user.ts';
import { clientIdsOf, condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { claimAddress } from '../accounts/addresses.ts';
import { ofUser, type Person, type Transaction } from '../audit/audit.ts';
import { enqueueEmailMail } from '../outbox/enqueue-mails.ts';

/** Days for which the old address can undo a change of it, and is reserved. */
export const UNDO_DAYS = 7;

type AddressChange = {
  user: User;
  to: string;
  action: 'user.change-email' | 'user.undo-email';
  actor: Person;
  /** The request that was confirmed. Without one, a change is added. */
  requestId?: number;
  /** Whether the old address gets a mail, and if it was proved, with a link that undoes the change: only the person's own change has one. */
  notice: 'undo' | 'plain' | 'none';
  /** That of the request, for the mail. */
  ipAddress: string | null;
};

/**
 * Changes the address of a locked user. What was recorded under the old one stays: it has the id of the account. Unsent mails go to the new
 * one. Invitations stay with the address that was invited: a client that trusts one mailbox does not trust another.
 * @throws Problem `user-exists`, and the violation of the unique address
 */
export const changeAddress = async ({ tx, now, audit }: Transaction, change: AddressChange) => {
  const { user, to, actor, action, notice } = change;
  const from = user.email;
  // A mailbox that was never proved gets nothing back: otherwise anyone could reserve an address of others.
  const canUndo = notice === 'undo' && user.isEmailVerified;
  await claimAddress(tx, now, { userId: user.id, from, to });
  user.email = to;
  user.isEmailVerified = false;
  const undoUntil = canUndo ? new Date(now.getTime() + UNDO_DAYS * DAY_MS) : null;
  const made = { oldEmail: from, changedAt: now, undoUntil };
  const recorded =
    change.requestId === undefined
      ? tx.create(EmailChange, { user, newEmail: to, requestedAt: now, requestedBy: actor.id, ...made })
      : tx.assign(await tx.findOneOrFail(EmailChange, change.requestId), made);
  await tx.flush();
  await redirectMails(tx, user.id, { from, to });
  if (notice !== 'none') {
    const changeId = canUndo ? recorded.id : null;
    const mail = { userId: user.id, changeId, recipient: from, now, address: change.ipAddress };
    await enqueueEmailMail(tx, 'email-changed', mail);
  }
  const clients = await clientIdsOf(tx, user.id);
  await audit.record(tx, [{ action, actor, target: ofUser(user), clients }]);
};

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

/** Ends the links that undo a change, as who trusts the accounts from now on trusts their present mailboxes. */
export const endUndo = (tx: Em, userIds: number | readonly number[]) =>
  kysely(tx)
    .updateTable('email_changes')
    .set({ undo_until: null })
    .where(isAnyOf('user_id', [userIds].flat(), 'int'))
    .where('undo_until', 'is not', null)
    .execute();
