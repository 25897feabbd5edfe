import type { Migration } from '@mikro-orm/migrations';
import { ClientsAndUsers } from './0001-clients-and-users.ts';
import { Apps } from './0002-apps.ts';
import { Auth } from './0003-auth.ts';
import { InvitationsAndMail } from './0004-invitations-and-mail.ts';
import { Usage } from './0005-usage.ts';
import { Audit } from './0006-audit.ts';
import { Erasures } from './0007-erasures.ts';
import { MailTraceContext } from './0008-mail-trace-context.ts';
import { Backups } from './0009-backups.ts';
import { UserSorting } from './0010-user-sorting.ts';
import { Operations } from './0011-operations.ts';
import { Attention } from './0012-attention.ts';
import { Gate } from './0013-gate.ts';
import { Recipients } from './0014-recipients.ts';
import { LastUse } from './0015-last-use.ts';
import { UsageByEmail } from './0016-usage-by-email.ts';
import { TokenRefresh } from './0017-token-refresh.ts';
import { FailedLoginsMail } from './0018-failed-logins-mail.ts';
import { PasswordExpiryNotice } from './0019-password-expiry-notice.ts';
import { OperationOutcomes } from './0020-operation-outcomes.ts';
import { MembershipsOfClients } from './0021-memberships-of-clients.ts';
import { GrantsThatEnd } from './0022-grants-that-end.ts';
import { EmailChanges } from './0023-email-changes.ts';
import { Groups } from './0024-groups.ts';
import { AccessRequests } from './0025-access-requests.ts';
import { InvitationsToGroups } from './0026-invitations-to-groups.ts';
import { RequestersOfEmailChanges } from './0027-requesters-of-email-changes.ts';
import { GroupsOfOperations } from './0028-groups-of-operations.ts';
import { Offboarding } from './0029-offboarding.ts';
import { NamesOfInvitees } from './0030-names-of-invitees.ts';
import { VerifiedAddresses } from './0031-verified-addresses.ts';
import { LimitedErasures } from './0032-limited-erasures.ts';
import { VariablesOfMails } from './0033-variables-of-mails.ts';
import { SecondFactors } from './0034-second-factors.ts';
import { ClientRoles } from './0035-client-roles.ts';
import { AuthenticationMethods } from './0036-authentication-methods.ts';

/** The lock of PostgreSQL's chapter 13.3. */
export type LockMode =
  | 'SHARE ROW EXCLUSIVE'
  | 'SHARE'
  | 'SHARE UPDATE EXCLUSIVE'
  | 'EXCLUSIVE'
  | 'ACCESS EXCLUSIVE';

type Entry = {
  name: string;
  class: new (...args: ConstructorParameters<typeof Migration>) => Migration & { up(): void };
  /** The strongest lock that it takes on each table that exists before it. `SHARE` and stronger ones block writers. */
  locks: Record<string, LockMode>;
};

/** In execution order. Names are stored in the database: never rename a released migration. */
export const migrations: Entry[] = [
  { name: '0001-clients-and-users', class: ClientsAndUsers, locks: {} },
  { name: '0002-apps', class: Apps, locks: { clients: 'SHARE ROW EXCLUSIVE', users: 'SHARE ROW EXCLUSIVE' } },
  { name: '0003-auth', class: Auth, locks: { users: 'SHARE ROW EXCLUSIVE' } },
  {
    name: '0004-invitations-and-mail',
    class: InvitationsAndMail,
    locks: {
      apps: 'SHARE ROW EXCLUSIVE',
      clients: 'SHARE ROW EXCLUSIVE',
      password_links: 'SHARE ROW EXCLUSIVE',
      users: 'SHARE ROW EXCLUSIVE',
    },
  },
  { name: '0005-usage', class: Usage, locks: { apps: 'SHARE ROW EXCLUSIVE' } },
  { name: '0006-audit', class: Audit, locks: {} },
  { name: '0007-erasures', class: Erasures, locks: { audit_entries: 'ACCESS EXCLUSIVE' } },
  { name: '0008-mail-trace-context', class: MailTraceContext, locks: { outbox_mails: 'ACCESS EXCLUSIVE' } },
  { name: '0009-backups', class: Backups, locks: {} },
  { name: '0010-user-sorting', class: UserSorting, locks: { users: 'SHARE' } },
  {
    name: '0011-operations',
    class: Operations,
    locks: { outbox_mails: 'SHARE', users: 'SHARE ROW EXCLUSIVE' },
  },
  {
    name: '0012-attention',
    class: Attention,
    locks: { invitations: 'SHARE', outbox_mails: 'SHARE', users: 'SHARE' },
  },
  {
    name: '0013-gate',
    class: Gate,
    locks: { apps: 'ACCESS EXCLUSIVE', clients: 'ACCESS EXCLUSIVE', users: 'SHARE ROW EXCLUSIVE' },
  },
  { name: '0014-recipients', class: Recipients, locks: { invitations: 'SHARE', outbox_mails: 'SHARE' } },
  { name: '0015-last-use', class: LastUse, locks: { usage_days: 'SHARE' } },
  { name: '0016-usage-by-email', class: UsageByEmail, locks: { usage_entries: 'SHARE' } },
  { name: '0017-token-refresh', class: TokenRefresh, locks: { api_tokens: 'ACCESS EXCLUSIVE' } },
  { name: '0018-failed-logins-mail', class: FailedLoginsMail, locks: { outbox_mails: 'ACCESS EXCLUSIVE' } },
  {
    name: '0019-password-expiry-notice',
    class: PasswordExpiryNotice,
    locks: { memberships: 'ACCESS EXCLUSIVE', outbox_mails: 'ACCESS EXCLUSIVE' },
  },
  {
    name: '0020-operation-outcomes',
    class: OperationOutcomes,
    locks: {
      idempotent_responses: 'ACCESS EXCLUSIVE',
      operation_changes: 'ACCESS EXCLUSIVE',
      outbox_mails: 'ACCESS EXCLUSIVE',
    },
  },
  {
    name: '0021-memberships-of-clients',
    class: MembershipsOfClients,
    locks: { memberships: 'ACCESS EXCLUSIVE', operation_changes: 'ACCESS EXCLUSIVE' },
  },
  {
    name: '0022-grants-that-end',
    class: GrantsThatEnd,
    locks: { app_grants: 'ACCESS EXCLUSIVE', operation_changes: 'ACCESS EXCLUSIVE' },
  },
  {
    name: '0023-email-changes',
    class: EmailChanges,
    locks: {
      erasures: 'ACCESS EXCLUSIVE',
      outbox_mails: 'ACCESS EXCLUSIVE',
      users: 'SHARE ROW EXCLUSIVE',
    },
  },
  {
    name: '0024-groups',
    class: Groups,
    locks: { apps: 'SHARE ROW EXCLUSIVE', clients: 'SHARE ROW EXCLUSIVE', users: 'SHARE ROW EXCLUSIVE' },
  },
  {
    name: '0025-access-requests',
    class: AccessRequests,
    locks: { apps: 'ACCESS EXCLUSIVE', outbox_mails: 'ACCESS EXCLUSIVE', users: 'SHARE ROW EXCLUSIVE' },
  },
  {
    name: '0026-invitations-to-groups',
    class: InvitationsToGroups,
    locks: { groups: 'SHARE ROW EXCLUSIVE', invitations: 'ACCESS EXCLUSIVE' },
  },
  {
    name: '0027-requesters-of-email-changes',
    class: RequestersOfEmailChanges,
    locks: { email_changes: 'ACCESS EXCLUSIVE' },
  },
  {
    name: '0028-groups-of-operations',
    class: GroupsOfOperations,
    locks: { operation_changes: 'ACCESS EXCLUSIVE' },
  },
  {
    name: '0029-offboarding',
    class: Offboarding,
    locks: { operation_changes: 'ACCESS EXCLUSIVE' },
  },
  { name: '0030-names-of-invitees', class: NamesOfInvitees, locks: { invitations: 'ACCESS EXCLUSIVE' } },
  {
    name: '0031-verified-addresses',
    class: VerifiedAddresses,
    locks: { email_changes: 'ACCESS EXCLUSIVE', users: 'ACCESS EXCLUSIVE' },
  },
  {
    name: '0032-limited-erasures',
    class: LimitedErasures,
    locks: {
      erasures: 'ACCESS EXCLUSIVE',
      invitations: 'ACCESS EXCLUSIVE',
      memberships: 'ACCESS EXCLUSIVE',
      operation_changes: 'ACCESS EXCLUSIVE',
      users: 'ACCESS EXCLUSIVE',
    },
  },
  { name: '0033-variables-of-mails', class: VariablesOfMails, locks: { outbox_mails: 'ACCESS EXCLUSIVE' } },
  {
    name: '0034-second-factors',
    class: SecondFactors,
    locks: { outbox_mails: 'ACCESS EXCLUSIVE', users: 'SHARE ROW EXCLUSIVE' },
  },
  { name: '0035-client-roles', class: ClientRoles, locks: {} },
  {
    name: '0036-authentication-methods',
    class: AuthenticationMethods,
    locks: {
      access_view_uses: 'ACCESS EXCLUSIVE',
      api_tokens: 'ACCESS EXCLUSIVE',
      launch_codes: 'ACCESS EXCLUSIVE',
      sessions: 'ACCESS EXCLUSIVE',
    },
  },
];
