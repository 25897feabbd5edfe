import type { InferKyselyDB } from '@mikro-orm/sql';
import { AccessRequestSchema } from './access-request.ts';
import { AccessView, AccessViewUse, EmbedSession } from './access-view.ts';
import { App, AppGrant, FetchedPackage, LoadedPackage, Stack } from './app.ts';
import { AuditEntry, Event, EventClient, EventSinkPosition, UnpublishedEvent } from './audit.ts';
import { BackupSchema } from './backup.ts';
import { Client, MembershipSchema, Site } from './client.ts';
import { ApiToken, PasswordLink, ServiceAccount, Session, TokenUse } from './credentials.ts';
import {
  Directory,
  DirectoryEnding,
  DirectoryGroup,
  DirectoryHold,
  DirectoryMember,
  DirectoryPerson,
  DirectoryRequest,
} from './directory.ts';
import { ErasureSchema } from './erasure.ts';
import { Group, GroupApp, GroupMember } from './group.ts';
import { InvitationApp, InvitationGroup, InvitationSchema } from './invitation.ts';
import { ListView, ListViewPin } from './list-view.ts';
import { AnsweredChallenge, LoginChallenge, MfaFactor, Passkey, RecoveryCode } from './mfa.ts';
import { OpenidApp, OpenidConsent, OpenidLogin, OpenidToken } from './openid.ts';
import { Operation, OperationChange } from './operation.ts';
import { OutboxMailSchema } from './outbox-mail.ts';
import { ClientReminders } from './reminders.ts';
import { IdempotentResponse, RateLimit } from './request.ts';
import { SavedFilter, SavedFilterDefault, SavedFilterGroup } from './saved-filter.ts';
import { ClientDomain, ExternalIdentity, SsoConnection, SsoGroup, SsoLogout } from './sso.ts';
import { LaunchCode, SigningKey, TicketRevocation } from './ticket.ts';
import { UsageAppDay, UsageDay, UsageEntry, UsageStackDay, UsageWindow } from './usage.ts';
import { EmailChange, UserSchema } from './user.ts';
import { ViewAs } from './view-as.ts';
import { WebhookDelivery, WebhookSchema } from './webhook.ts';

/**
 * All entities of the ORM.
 * @internal the type is too long for a declaration file
 */
export const entities = [
  ...[Site, Client, UserSchema, MembershipSchema],
  ...[ApiToken, TokenUse, ServiceAccount, Session, PasswordLink, EmailChange],
  ...[MfaFactor, Passkey, RecoveryCode, LoginChallenge, AnsweredChallenge],
  ...[RateLimit, IdempotentResponse],
  ...[App, AppGrant, Stack, FetchedPackage, LoadedPackage],
  ...[UsageEntry, UsageDay, UsageAppDay, UsageStackDay, UsageWindow],
  ...[InvitationSchema, InvitationApp, InvitationGroup],
  ...[OutboxMailSchema],
  ...[SavedFilter, SavedFilterGroup, SavedFilterDefault],
  ...[ListView, ListViewPin],
  ...[AuditEntry, Event, EventClient, UnpublishedEvent, EventSinkPosition],
  ...[BackupSchema, ErasureSchema],
  ...[Operation, OperationChange],
  ...[Group, GroupMember, GroupApp],
  ...[SsoConnection, SsoGroup, ClientDomain, ExternalIdentity, SsoLogout],
  ...[AccessRequestSchema, AccessView, AccessViewUse, EmbedSession],
  ...[LaunchCode, SigningKey, TicketRevocation, ViewAs],
  ...[OpenidApp, OpenidLogin, OpenidToken, OpenidConsent],
  ...[Directory, DirectoryPerson, DirectoryGroup, DirectoryMember, DirectoryHold],
  ...[DirectoryEnding, DirectoryRequest],
  ...[WebhookSchema, WebhookDelivery],
  ...[ClientReminders],
];

/** The same tables for Kysely: table names and column types come from the entities. */
export interface Database extends InferKyselyDB<(typeof entities)[number]> {}
