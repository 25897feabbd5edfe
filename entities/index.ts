import type { InferKyselyDB } from '@mikro-orm/sql';
import { AccessView, AccessViewUse, EmbedSession } from './access-view.ts';
import { ApiToken } from './api-token.ts';
import { App, AppGrant, Stack } from './app.ts';
import { AuditEntry } from './audit-entry.ts';
import { BackupSchema } from './backup.ts';
import { Client } from './client.ts';
import { Erasure } from './erasure.ts';
import { IdempotentResponse } from './idempotent-response.ts';
import { InvitationSchema } from './invitation.ts';
import { InvitationApp } from './invitation-app.ts';
import { Membership } from './membership.ts';
import { Operation, OperationChange } from './operation.ts';
import { OutboxMail } from './outbox-mail.ts';
import { FetchedPackage, LoadedPackage } from './package.ts';
import { PasswordLink } from './password-link.ts';
import { RateLimit } from './rate-limit.ts';
import { SavedFilter } from './saved-filter.ts';
import { Session } from './session.ts';
import { Site } from './site.ts';
import { LaunchCode, SigningKey, TicketRevocation } from './ticket.ts';
import { UsageEntry } from './usage-entry.ts';
import { UsageAppDay, UsageDay, UsageStackDay, UsageWindow } from './usage-totals.ts';
import { UserSchema } from './user.ts';

/**
 * All entities of the ORM.
 * @internal the type is too long for a declaration file
 */
export const entities = [
  Site,
  Client,
  UserSchema,
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
  InvitationSchema,
  InvitationApp,
  OutboxMail,
  SavedFilter,
  AuditEntry,
  BackupSchema,
  Erasure,
  Operation,
  OperationChange,
  AccessView,
  AccessViewUse,
  EmbedSession,
  LaunchCode,
  SigningKey,
  TicketRevocation,
];

/** The same tables for Kysely: table names and column types come from the entities. */
export interface Database extends InferKyselyDB<(typeof entities)[number]> {}
