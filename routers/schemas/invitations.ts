import { z } from 'zod';
import { CLIENT_ROLE_NAMES } from '../../src/services/access/permissions.ts';
import type { InvitationRow } from '../../src/services/invitations/invitation-rows.ts';
import { INVITATION_STATUSES } from '../../src/services/invitations/invitations.ts';
import { MAIL_STATUSES } from '../../src/services/outbox/mail-status.ts';
import type { Context } from '../context.ts';
import { Expiry, Extra, PersonName } from './fields.ts';
import { AppIds, distinct, GroupIds, IdCursor } from './keys.ts';
import { pagingFields, Search } from './lists.ts';
import { AnyObject, Instant, Output } from './outputs.ts';
import { UserOutput, userOutput } from './users.ts';

export const InvitationStatus = z.enum(INVITATION_STATUSES);

/** By default, lists show pending invitations. */
export const InvitationStatusFilter = z.enum([...InvitationStatus.options, 'all']).default('pending');

/** As the inviter knows them: they fill in what the invitee omits. */
export const inviteeNames = { first_name: PersonName.optional(), last_name: PersonName.optional() };

export const invitationOffer = {
  extra: Extra.optional(),
  initial_apps: AppIds.default([]),
  groups: GroupIds.default([]),
  apps_expire_at: Expiry.default(null),
  /** Names of the roles that the invitee gets in the client. */
  roles: distinct(z.enum(CLIENT_ROLE_NAMES), CLIENT_ROLE_NAMES.length).default([]),
};

/** Filters of invitation lists. `cursor` is the id of the last invitation of the previous page. */
export const invitationFilter = {
  status: InvitationStatusFilter,
  /** Each word must match the email address. */
  search: Search.optional(),
  ...pagingFields(IdCursor),
};

/** An invitation in the endpoints of a client. */
export const ClientInvitationOutput = Output('ClientInvitation', {
  id: z.int(),
  user: UserOutput,
  email: z.string(),
  key: z.string(),
  initial_apps: z.array(z.string()),
  extra: AnyObject,
  date_invited: Instant,
  invitation_email_count: z.int().meta({ examples: [0] }),
});

/** An invitation in the user invitation endpoints, where `is_demo_user` is documented as a string. */
export const InvitationOutput = Output('Invitation', {
  ...ClientInvitationOutput.shape,
  is_demo_user: z.enum(['true', 'false']),
});

export const invitationOutput =
  (base: Pick<Context, 'baseUrl'>) =>
  <Invitation extends InvitationRow>(invitation: Invitation) => ({
    ...invitation,
    client: invitation.client_id,
    user: userOutput(base)(invitation.inviter),
    invitation_email_count: invitation.email_count,
    is_demo_user: invitation.is_demo_user ? ('true' as const) : ('false' as const),
  });

/** `last_error`: why the last attempt failed. */
export const InvitationMailOutput = Output('InvitationMail', {
  id: z.int(),
  status: z.enum(MAIL_STATUSES),
  last_error: z.string().nullable(),
});

/** An invitation with its status, for admins. */
export const InvitationDetailsOutput = Output('InvitationDetails', {
  ...InvitationOutput.shape,
  client: z.int(),
  /** As the inviter stated them. */
  first_name: z.string(),
  last_name: z.string(),
  status: InvitationStatus,
  expires_at: Instant,
  /** Ids of the groups that the invitee joins. */
  groups: z.array(z.int()),
  /** When the grants of `initial_apps` end; null if they do not. */
  apps_expire_at: Instant.nullable(),
  /** Names of the roles that the invitee gets in the client. */
  roles: z.array(z.string()).meta({ examples: [['client-admin']] }),
  /** Time of acceptance or revocation. */
  closed_at: Instant.nullable(),
  /** The newest mail; null after its retention. */
  mail: InvitationMailOutput.nullable(),
});

/** An invitation as shown to the invitee. */
export const InvitationPageOutput = Output('InvitationPage', {
  status: InvitationStatus,
  email: z.string(),
  /** As the inviter stated them. */
  first_name: z.string(),
  last_name: z.string(),
  client_name: z.string(),
  invitation_body: z.string(),
  support_email: z.string(),
  inviter_name: z.string().meta({ examples: ['Alex Acme'] }),
  /** Labels of the apps. */
  apps: z.array(z.string()),
  /** Who the invitee will be by the roles in the client: `an admin`; empty without roles. */
  invited_as: z.string().meta({ examples: ['an admin'] }),
  expires_at: Instant,
  closed_at: Instant.nullable(),
  /** What the invitee must provide to accept: a password (new users), a login, or the activation of the account. */
  needs: z.enum(['password', 'login', 'nothing', 'activation']),
  /** The identity provider by which new people can or must accept, instead of choosing a password. */
  sso: z
    .object({
      name: z.string().meta({ examples: ['Acme ID'] }),
      url: z.string().meta({ examples: ['http://localhost:8000/sso/3/start/'] }),
      is_required: z.boolean(),
    })
    .nullable(),
  home_location: z.string(),
  rules: z.array(z.object({ rule: z.string(), message: z.string() })),
});

/**
 * `user` is null if the access was revoked right after the acceptance, or if the user has to set up a second factor first:
 * `needs_second_factor`.
 */
export const AcceptedOutput = z.object({
  user: UserOutput.nullable(),
  home_location: z.string(),
  needs_second_factor: z.boolean(),
});
