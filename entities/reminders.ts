import { defineEntity, p } from '@mikro-orm/core';
import { Client } from './client.ts';
import { instant } from './columns.ts';

/**
 * What a client wants its people and its admins to be reminded of. 0 days are off; a client without a row wants nothing. The last columns
 * say what was done already, so that instances do it once.
 */
export const ClientReminders = defineEntity({
  name: 'ClientReminders',
  tableName: 'client_reminders',
  properties: {
    client: () => p.oneToOne(Client).owner().primary().deleteRule('cascade').updateRule('no action'),
    /** Days before the end of a grant. */
    accessDays: p.integer().default(0).check('access_days >= 0 and access_days <= 90'),
    /** Whether the admins are told of the same grants. */
    accessAdmins: p.boolean().default(false),
    /** Days before an invitation expires. */
    invitationDays: p.integer().default(0).check('invitation_days >= 0 and invitation_days <= 90'),
    /** Days without use after which members are warned. */
    inactiveDays: p
      .integer()
      .default(0)
      .check('inactive_days = 0 or inactive_days >= 14 and inactive_days <= 3650'),
    /** Days after the warning after which a membership without use is suspended; 0: never. */
    suspendDays: p
      .integer()
      .default(0)
      .check('suspend_days = 0 or suspend_days >= 7 and suspend_days <= 365'),
    weeklyDigest: p.boolean().default(false),
    /** When the days of inactivity were last changed: warnings before it count no more. */
    inactiveSince: instant().nullable(),
    /** The admins have been told of all grants that end before. */
    accessToldUntil: instant().nullable(),
    /** The Monday of the last digest. */
    digestFor: instant().nullable(),
  },
});
