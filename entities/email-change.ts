import { defineEntity, p } from '@mikro-orm/core';
import { index, instant } from './columns.ts';
import { User } from './user.ts';

/**
 * A change of an email address, requested or made. Those that were made name the addresses under which a person was recorded before.
 * The row holds no secret: both mailed links are signed with the key of the service.
 */
export const EmailChange = defineEntity({
  name: 'EmailChange',
  tableName: 'email_changes',
  indexes: [
    index('email_changes_old_email', 'email_changes (old_email) where changed_at is not null'),
    index('email_changes_requested', 'email_changes (requested_at) where changed_at is null'),
  ],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    user: () => p.manyToOne(User).index().deleteRule('cascade').updateRule('no action'),
    oldEmail: p.string().length(254),
    newEmail: p.string().length(254),
    requestedAt: instant(),
    /** Who requested it; null before this was recorded, and if no link had to be confirmed. */
    requestedBy: p.integer().nullable(),
    /** Null until the link to the new address is confirmed. */
    changedAt: instant().nullable(),
    /** The end of the link to the old address, which is reserved until then if it was verified. Null without a link, or after its use. */
    undoUntil: instant().nullable(),
    /** Whether the person requested it. Otherwise it handed the account over to the holder of the new mailbox, who may be another person. */
    isOwn: p.boolean().default(true),
    /** Whether the old address was verified. Otherwise only clients of the person have recorded the person under it. */
    wasVerified: p.boolean().default(false),
    /** Whether the old address does not count as the person's although it was verified: the account may have been that of another person then. */
    isDisowned: p.boolean().default(false),
    /** Whether the person did anything under the old address: it then stays reserved, so that it never names another. */
    isKept: p.boolean().default(false),
  },
});
