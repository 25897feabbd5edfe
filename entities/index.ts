import type { InferKyselyDB } from '@mikro-orm/sql';
import { ApiToken, type ApiTokenSchema } from './api-token.ts';
import { App, type AppSchema } from './app.ts';
import { AppGrant, type AppGrantSchema } from './app-grant.ts';
import { AuditEntry, type AuditEntrySchema } from './audit-entry.ts';
import { Client, type ClientSchema } from './client.ts';
import { FetchedPackage, type FetchedPackageSchema } from './fetched-package.ts';
import { IdempotentResponse, type IdempotentResponseSchema } from './idempotent-response.ts';
import { Invitation, type InvitationSchema } from './invitation.ts';
import { InvitationApp, type InvitationAppSchema } from './invitation-app.ts';
import { LoadedPackage, type LoadedPackageSchema } from './loaded-package.ts';
import { Membership, type MembershipSchema } from './membership.ts';
import { OutboxMail, type OutboxMailSchema } from './outbox-mail.ts';
import { PasswordLink, type PasswordLinkSchema } from './password-link.ts';
import { RateLimit, type RateLimitSchema } from './rate-limit.ts';
import { SavedFilter, type SavedFilterSchema } from './saved-filter.ts';
import { Session, type SessionSchema } from './session.ts';
import { Site, type SiteSchema } from './site.ts';
import { Stack, type StackSchema } from './stack.ts';
import { UsageAppDay, type UsageAppDaySchema } from './usage-app-day.ts';
import { UsageDay, type UsageDaySchema } from './usage-day.ts';
import { UsageEntry, type UsageEntrySchema } from './usage-entry.ts';
import { UsageStackDay, type UsageStackDaySchema } from './usage-stack-day.ts';
import { UsageWindow, type UsageWindowSchema } from './usage-window.ts';
import { User, type UserSchema } from './user.ts';

/** All entities of the ORM. */
export const entities = [
  Site,
  Client,
  User,
  Membership,
  ApiToken,
  Session,
  PasswordLink,
  RateLimit,
  IdempotentResponse,
  App,
  AppGrant,
  Stack,
  FetchedPackage,
  LoadedPackage,
  UsageEntry,
  UsageDay,
  UsageAppDay,
  UsageStackDay,
  UsageWindow,
  Invitation,
  InvitationApp,
  OutboxMail,
  SavedFilter,
  AuditEntry,
];

/** The same tables for Kysely: table names and column types come from the entities. */
export type Database = InferKyselyDB<
  | typeof SiteSchema
  | typeof ClientSchema
  | typeof UserSchema
  | typeof MembershipSchema
  | typeof ApiTokenSchema
  | typeof SessionSchema
  | typeof PasswordLinkSchema
  | typeof RateLimitSchema
  | typeof IdempotentResponseSchema
  | typeof AppSchema
  | typeof AppGrantSchema
  | typeof StackSchema
  | typeof FetchedPackageSchema
  | typeof LoadedPackageSchema
  | typeof UsageEntrySchema
  | typeof UsageDaySchema
  | typeof UsageAppDaySchema
  | typeof UsageStackDaySchema
  | typeof UsageWindowSchema
  | typeof InvitationSchema
  | typeof InvitationAppSchema
  | typeof OutboxMailSchema
  | typeof SavedFilterSchema
  | typeof AuditEntrySchema
>;
