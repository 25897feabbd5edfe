import type { InferKyselyDB } from '@mikro-orm/sql';
import { App, AppGrant, SavedFilter, Stack } from './app.ts';
import { AuditEntry } from './audit-entry.ts';
import { Client, Membership, Site } from './client.ts';
import { ApiToken, PasswordLink, Session } from './credentials.ts';
import { IdempotentResponse } from './idempotent-response.ts';
import { InvitationApp, InvitationSchema } from './invitation.ts';
import { OutboxMail } from './outbox-mail.ts';
import { FetchedPackage, LoadedPackage } from './package.ts';
import { RateLimit } from './rate-limit.ts';
import { UsageAppDay, UsageDay, UsageEntry, UsageStackDay, UsageWindow } from './usage.ts';
import { UserSchema } from './user.ts';

/** All entities of the ORM. */
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
];

/** The same tables for Kysely: table names and column types come from the entities. */
export type Database = InferKyselyDB<(typeof entities)[number]>;
