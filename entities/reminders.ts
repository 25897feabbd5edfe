import { defineEntity, p } from '@mikro-orm/core';
import { Client } from './client.ts';
import { instant } from './columns.ts';

/**
 * The reminders that a client sends to its people and its admins. 0 days: off. A client without a row sends none. The last columns record
 * what was done, so that only one instance does it.
 */
export const ClientReminders = defineEntity({
  name: 'ClientReminders',
  tableName: 'client_reminders',
  properties: {
    client: () => p.oneToOne(Client).owner().primary().deleteRule('cascade').updateRule('no action'),
    /** Days before the end of a grant. */
    accessDays: p.integer().default(0).check('access_days >= 0 and access_days <= 90'),
    /** Whether the admins get a mail about the same grants. */
    accessAdmins: p.boolean().default(false),
    /** Days before an invitation expires. */
    invitationDays: p.integer().default(0).check('invitation_days >= 0 and invitation_days <= 90'),
    /** Days without use before a member is warned. */
    inactiveDays: p
      .integer()
      .default(0)
      .check('inactive_days = 0 or inactive_days >= 14 and inactive_days <= 3650'),
    /** Days from the warning until a membership without use is suspended; 0: never. */
    suspendDays: p
      .integer()
      .default(0)
      .check('suspend_days = 0 or suspend_days >= 7 and suspend_days <= 365'),
    weeklyDigest: p.boolean().default(false),
    /** When the days of inactivity were last changed. Earlier warnings no longer count. */
    inactiveSince: instant().nullable(),
    /** The admins have been mailed about all grants that end before this time. */
    accessToldUntil: instant().nullable(),
    /** The Monday of the last digest. */
    digestFor: instant().nullable(),
  },
});
