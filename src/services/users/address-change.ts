import { EmailChange, type User } from '../../../entities/user.ts';
import { clientIdsOf, condition, type Em, kysely } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { claimAddress } from '../accounts/addresses.ts';
import { ofUser, type Person, type Transaction } from '../audit/audit.ts';
import { enqueueEmailMail } from '../outbox/enqueue-mails.ts';

/** Days during which the old address is reserved, and can undo the change. */
export const UNDO_DAYS = 7;

type AddressChange = {
  user: User;
  to: string;
  action: 'user.change-email' | 'user.undo-email';
  actor: Person;
  /** The confirmed request. Without one, the change gets a new row. */
  requestId?: number;
  /**
   * The mail to the old address: `undo` has a link that undoes the change, if the old address was proved; `plain` has none. Only the
   * person's own change gets `undo`.
   */
  notice: 'undo' | 'plain' | 'none';
  /** The network address of the request, for the mail. */
  ipAddress: string | null;
};

/**
 * Changes the address of a locked user. Records under the old address stay with the account, because they have its id. Unsent mails go to
 * the new address. Invitations stay with the old address: a client that trusts one mailbox does not trust another.
 * @throws Problem `user-exists`, and the violation of the unique address
 */
export const changeAddress = async ({ tx, now, audit }: Transaction, change: AddressChange) => {
  const { user, to, actor, action, notice } = change;
  const from = user.email;
  // An address that was never proved gets no undo link: otherwise anyone could reserve the address of another person.
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

/** Invalidates links that were mailed to the old address, and redirects unsent mails to the new one. */
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
    // Mails of clients that the person has left stay with the address that these clients know.
    .where(
      condition`(client_id is null or exists (select from memberships m
        where m.user_id = ${userId} and m.client_id = outbox_mails.client_id))`,
    )
    .execute();
};
