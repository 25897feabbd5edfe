import { z } from 'zod';
import { shielded } from '../src/core/free-form.ts';
import type { InvitationRow } from '../src/services/invitation-rows.ts';
import { AnyObject, Instant } from './schemas.ts';
import { UserView, userView } from './user-views.ts';

/** The lists show what is pending unless asked otherwise. */
export const InvitationStatusFilter = z
  .enum(['pending', 'accepted', 'expired', 'revoked', 'all'])
  .default('pending');

/** As the endpoints of a client show an invitation. */
export const ClientInvitationView = z.object({
  id: z.int(),
  user: UserView,
  email: z.string(),
  key: z.string(),
  initial_apps: z.array(z.string()),
  extra: AnyObject,
  date_invited: Instant,
  invitation_email_count: z.int(),
});

/** As the user invitation endpoints show it: `is_demo_user` is a string there, as it always was. */
export const InvitationView = ClientInvitationView.extend({ is_demo_user: z.enum(['true', 'false']) });

export const clientInvitationView = (
  invitation: InvitationRow,
  baseUrl: string,
): z.input<typeof ClientInvitationView> => ({
  id: invitation.id,
  user: userView(invitation.inviter, baseUrl),
  email: invitation.email,
  key: invitation.key,
  initial_apps: invitation.initial_apps,
  extra: shielded(invitation.extra),
  date_invited: invitation.date_invited,
  invitation_email_count: invitation.email_count,
});

export const invitationView = (
  invitation: InvitationRow,
  baseUrl: string,
): z.input<typeof InvitationView> => ({
  ...clientInvitationView(invitation, baseUrl),
  is_demo_user: invitation.is_demo_user ? 'true' : 'false',
});
