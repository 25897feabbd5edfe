import type { z } from 'zod';
import {
  AppStackView,
  AppStatusView,
  AppSummaryView,
  AppVersionView,
  AppView,
} from '../../../routers/app-views.ts';
import { AuditView } from '../../../routers/audit.ts';
import { ClientView } from '../../../routers/client-views.ts';
import {
  ClientInvitationView,
  InvitationDetailsView,
  InvitationPageView,
  InvitationView,
} from '../../../routers/invitation-views.ts';
import { MailDetailsView, MailView } from '../../../routers/mail-views.ts';
import { SavedFilterView } from '../../../routers/saved-filters.ts';
import { SessionView } from '../../../routers/sessions.ts';
import { SiteView } from '../../../routers/sites.ts';
import { TokenView } from '../../../routers/tokens.ts';
import { UsageDayView } from '../../../routers/usage.ts';
import { UsageEntryView } from '../../../routers/usage-views.ts';
import { ClientUserView, UserView } from '../../../routers/user-views.ts';

/** What answers are made of, by the names that generated clients give their types. */
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
