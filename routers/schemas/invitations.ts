import { z } from 'zod';
import { opaque } from '../../src/lib/json-value.ts';
import type { Needs } from '../../src/services/invitations/invitation-acceptance.ts';
import type { MailedInvitation } from '../../src/services/invitations/invitation-by-link.ts';
import type { InvitationDetails } from '../../src/services/invitations/invitation-details.ts';
import type { InvitationRow } from '../../src/services/invitations/invitation-rows.ts';
import type { UserRow } from '../../src/services/users/user-rows.ts';
import { AnyObject, IdCursor, Instant } from './fields.ts';
import { pagingFields, Search } from './paging.ts';
import type { ItemWriter } from './streamed-items.ts';
import { UserView, userView } from './users.ts';

const InvitationStatus = z.enum(['pending', 'accepted', 'expired', 'revoked']);

/** The lists show what is pending unless asked otherwise. */
export const InvitationStatusFilter = z
  .enum(['pending', 'accepted', 'expired', 'revoked', 'all'])
  .default('pending');

/** What a list of invitations may be asked for; `cursor` is the id of the last one of the page before. */
export const invitationFilter = {
  status: InvitationStatusFilter,
  /** Words, each of them part of the address. */
  search: Search.optional(),
  ...pagingFields(IdCursor),
};

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
  extra: opaque(invitation.extra),
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

/** Where the items of a list keep whom their `user` shows, the same one for many: a symbol, which no serializer looks at. */
const INVITER = Symbol('inviter');

type InvitationItem = z.input<typeof InvitationView> & { [INVITER]?: UserRow };

/** One of a list. */
export const invitationItem = (invitation: InvitationRow, baseUrl: string): InvitationItem => ({
  ...invitationView(invitation, baseUrl),
  [INVITER]: invitation.inviter,
});

const inviterTexts = new WeakMap<UserRow, string>();

/** An answer that was kept under a key has come back without rows. */
const inviterText = ({ user, [INVITER]: inviter }: InvitationItem): string => {
  const text = (inviter && inviterTexts.get(inviter)) ?? JSON.stringify(user);
  if (inviter) inviterTexts.set(inviter, text);
  return text;
};

/** As `JSON.stringify` would. */
export const invitationWriter: ItemWriter<InvitationItem> = {
  json: (item) =>
    `{"id":${item.id},"user":${inviterText(item)},"email":${JSON.stringify(item.email)},` +
    `"key":${JSON.stringify(item.key)},"initial_apps":${JSON.stringify(item.initial_apps)},` +
    `"extra":${JSON.stringify(item.extra)},"date_invited":"${item.date_invited.toISOString()}",` +
    `"invitation_email_count":${item.invitation_email_count},"is_demo_user":"${item.is_demo_user}"}`,
};

/** With where it is in its life, for those who look after invitations. */
export const InvitationDetailsView = InvitationView.extend({
  client: z.int(),
  status: InvitationStatus,
  expires_at: Instant,
  /** When it was accepted or revoked. */
  closed_at: Instant.nullable(),
});

export const invitationDetailsView = (
  invitation: InvitationDetails,
  baseUrl: string,
): z.input<typeof InvitationDetailsView> => ({
  ...invitationView(invitation, baseUrl),
  client: invitation.client_id,
  status: invitation.status,
  expires_at: invitation.expires_at,
  closed_at: invitation.closed_at,
});

/** What the person invited is shown. */
export const InvitationPageView = z.object({
  status: InvitationStatus,
  email: z.string(),
  client_name: z.string(),
  invitation_body: z.string(),
  support_email: z.string(),
  inviter_name: z.string(),
  /** Labels of the apps. */
  apps: z.array(z.string()),
  expires_at: Instant,
  closed_at: Instant.nullable(),
  /** What accepting takes: a password for somebody new, else a login by the invited address, which may be inactive. */
  needs: z.enum(['password', 'login', 'nothing', 'activation']),
  home_location: z.string(),
  rules: z.array(z.object({ rule: z.string(), message: z.string() })),
});

type Opened = { invitation: MailedInvitation; needs: Needs };

export const invitationPageView = ({ invitation, needs }: Opened) => ({
  status: invitation.status,
  email: invitation.email,
  client_name: invitation.client_name,
  invitation_body: invitation.invitation_body,
  support_email: invitation.support_email,
  inviter_name: `${invitation.inviter_first_name} ${invitation.inviter_last_name}`.trim(),
  apps: invitation.app_labels,
  expires_at: invitation.expires_at,
  closed_at: invitation.closed_at,
  needs,
  home_location: invitation.home_location,
});

/** Null should the user's access have been ended in the moment after. */
export const AcceptedView = z.object({ user: UserView.nullable(), home_location: z.string() });
