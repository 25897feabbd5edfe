import type { z } from 'zod';
import { AuditView } from '../../../routers/audit.ts';
import { MailDetailsView, MailView } from '../../../routers/mail.ts';
import { SavedFilterView } from '../../../routers/saved-filters.ts';
import {
  AppStackView,
  AppStatusView,
  AppSummaryView,
  AppVersionView,
  AppView,
} from '../../../routers/schemas/apps.ts';
import { ClientView } from '../../../routers/schemas/clients.ts';
import {
  ClientInvitationView,
  InvitationDetailsView,
  InvitationPageView,
  InvitationView,
} from '../../../routers/schemas/invitations.ts';
import { UsageDayView, UsageEntryView } from '../../../routers/schemas/usage.ts';
import { ClientUserView, UserView } from '../../../routers/schemas/users.ts';
import { SessionView } from '../../../routers/sessions.ts';
import { SiteView } from '../../../routers/sites.ts';
import { TokenView } from '../../../routers/tokens.ts';

/** Views and the names of their components, which generated clients use for their types. */
export const COMPONENTS: ReadonlyMap<z.ZodType, string> = new Map<z.ZodType, string>([
  [SiteView, 'Site'],
  [ClientView, 'Client'],
  [UserView, 'User'],
  [ClientUserView, 'ClientUser'],
  [InvitationView, 'Invitation'],
  [ClientInvitationView, 'ClientInvitation'],
  [InvitationDetailsView, 'InvitationDetails'],
  [InvitationPageView, 'InvitationPage'],
  [AppView, 'App'],
  [AppSummaryView, 'ClientApp'],
  [AppStackView, 'AppStack'],
  [AppStatusView, 'AppStatus'],
  [AppVersionView, 'AppVersion'],
  [UsageEntryView, 'UsageEntry'],
  [SavedFilterView, 'SavedFilter'],
  [AuditView, 'AuditEntry'],
  [TokenView, 'Token'],
  [SessionView, 'Session'],
  [UsageDayView, 'UsageDay'],
  [MailView, 'Mail'],
  [MailDetailsView, 'MailDetails'],
]);
