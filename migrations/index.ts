import { People } from './0001-people.ts';
import { Apps } from './0002-apps.ts';
import { Invitations } from './0003-invitations.ts';
import { Access } from './0004-access.ts';
import { MailDelivery } from './0005-mail-delivery.ts';
import { AuditTrail } from './0006-audit-trail.ts';
import { UsageRollups } from './0007-usage-rollups.ts';
import { PackageHistory } from './0008-package-history.ts';
import { IdempotentAnswers } from './0009-idempotent-answers.ts';
import { UserSearch } from './0010-user-search.ts';
import { SealedAnswers } from './0011-sealed-answers.ts';
import { ListsByUser } from './0012-lists-by-user.ts';
import { AnswerRoles } from './0013-answer-roles.ts';
import { PasswordMinLength } from './0014-password-min-length.ts';
import { PasswordHashKinds } from './0015-password-hash-kinds.ts';
import { InvitationMails } from './0016-invitation-mails.ts';
import { NestedUsageWindows } from './0017-nested-usage-windows.ts';
import { SessionExpiry } from './0018-session-expiry.ts';
import { SessionAuthentication } from './0019-session-authentication.ts';
import { PasswordNotices } from './0020-password-notices.ts';

/** In the order they run. Names are recorded in the database: never rename one that has been released. */
export const migrations = [
  { name: '0001-people', class: People },
  { name: '0002-apps', class: Apps },
  { name: '0003-invitations', class: Invitations },
  { name: '0004-access', class: Access },
  { name: '0005-mail-delivery', class: MailDelivery },
  { name: '0006-audit-trail', class: AuditTrail },
  { name: '0007-usage-rollups', class: UsageRollups },
  { name: '0008-package-history', class: PackageHistory },
  { name: '0009-idempotent-answers', class: IdempotentAnswers },
  { name: '0010-user-search', class: UserSearch },
  { name: '0011-sealed-answers', class: SealedAnswers },
  { name: '0012-lists-by-user', class: ListsByUser },
  { name: '0013-answer-roles', class: AnswerRoles },
  { name: '0014-password-min-length', class: PasswordMinLength },
  { name: '0015-password-hash-kinds', class: PasswordHashKinds },
  { name: '0016-invitation-mails', class: InvitationMails },
  { name: '0017-nested-usage-windows', class: NestedUsageWindows },
  { name: '0018-session-expiry', class: SessionExpiry },
  { name: '0019-session-authentication', class: SessionAuthentication },
  { name: '0020-password-notices', class: PasswordNotices },
];
