import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';
import { instant, uniqueIndex } from './columns.ts';
import { User } from './user.ts';

/** `closed`: the request ended by itself, because the person got the app in another way or cannot get it any more. */
export const REQUEST_STATUSES = ['pending', 'approved', 'denied', 'withdrawn', 'closed'] as const;
export type RequestStatus = (typeof REQUEST_STATUSES)[number];

type Decision = { by: number; at: Date; reason?: string; expiresAt?: Date | null };

/** A person asks for an app of a client that they belong to. */
export const AccessRequestSchema = defineEntity({
  name: 'AccessRequest',
  tableName: 'access_requests',
  indexes: [
    uniqueIndex('access_requests_one_pending', `access_requests (user_id, app_id) where status = 'pending'`),
    { properties: ['user', 'id'] },
    { properties: ['app', 'id'] },
  ],
  properties: {
    id: p.integer().primary().autoincrement(),
    user: () => p.manyToOne(User).deleteRule('cascade').updateRule('no action'),
    app: () => p.manyToOne(App).deleteRule('cascade').updateRule('no action'),
    reason: p.string().length(500).default(''),
    /** How long the person wants the app; null: without an end. */
    days: p.integer().nullable().check('days > 0'),
    status: p.enum(REQUEST_STATUSES).default('pending'),
    /** Incremented with each change. A decision names the version that it decides. */
    version: p.integer().default(1),
    createdAt: instant(),
    decidedAt: instant().nullable(),
    /** The user who ended it. No foreign key: see `AppGrant.grantedBy`. */
    decidedBy: p.integer().nullable(),
    decisionReason: p.string().length(500).default(''),
    /** When the grant ends that the approval made; null if it has no end. */
    expiresAt: instant().nullable(),
  },
});

export class AccessRequest extends AccessRequestSchema.class {
  /** The person asks again before a decision. Returns false if nothing changes. */
  change(reason: string, days: number | null): boolean {
    if (this.reason === reason && (this.days ?? null) === days) return false;
    this.reason = reason;
    this.days = days;
    this.version += 1;
    return true;
  }

  end(status: Exclude<RequestStatus, 'pending'>, { by, at, reason = '', expiresAt = null }: Decision): void {
    this.status = status;
    this.version += 1;
    this.decidedAt = at;
    this.decidedBy = by;
    this.decisionReason = reason;
    this.expiresAt = expiresAt;
  }
}
AccessRequestSchema.setClass(AccessRequest);
