import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';
import { User } from './user.ts';

/**
 * What an operation has ended or replaced in addition to grants. `key`: the id of a group or an access view; the flag of a role in all
 * clients; or the name of a role or an attribute in one client, and the client's id: `client-admin:1`.
 */
export const ENDED_KINDS = ['group', 'client-role', 'role', 'access-view', 'attribute'] as const;

export type EndedPart = {
  kind: (typeof ENDED_KINDS)[number];
  key: string;
  /** Groups: who had added the person, and when. Times are ISO 8601. */
  added_by?: number | null;
  added_at?: string;
  /** Attributes: the value before and after. Undefined: none. */
  before?: unknown;
  after?: unknown;
};

/** What can be undone of a user's changes. `app_id` and `group_id` are null for parts that concern no app or no group. */
export const UNDONE_KINDS = ['app', 'activation', ...ENDED_KINDS] as const;

export type UndoablePart = {
  kind: (typeof UNDONE_KINDS)[number];
  app_id: string | null;
  group_id: number | null;
};

/** A part that an undo could not revert, and why. */
export type SkippedPart = UndoablePart & { problem: { code: string; detail: string } };

/** What the undo has reverted of a user's changes, and what it could not revert. */
export type UndoneChange = { reverted: number; skipped: SkippedPart[] };

/** Terms of a grant. Times are ISO 8601. */
export type GrantTerms = {
  granted_by: number | null;
  granted_at: string | null;
  expires_at: string | null;
  reason: string;
  /** Missing in rows before them. */
  attributes?: Record<string, unknown> | null;
  app_roles?: string[];
};

/** A change of many users, whose audit entries have its id in `details.operation`. */
export const Operation = defineEntity({
  name: 'Operation',
  tableName: 'operations',
  indexes: [{ properties: ['startedAt'] }],
  properties: {
    id: p.uuid().primary(),
    /** The actor. No foreign key: its check would lock the actor's row after the rows of the changed users. */
    userId: p.integer(),
    /** The client to which the actor's credential was confined. */
    confinedTo: p.integer().nullable(),
    /** The change, to compare: only a request for the same change may continue it. */
    change: p.text(),
    startedAt: instant(),
  },
});

/** The changes of an operation to a user, and what its undo has reverted. Kept for a day. */
export const OperationChange = defineEntity({
  name: 'OperationChange',
  tableName: 'operation_changes',
  properties: {
    operation: () => p.manyToOne(Operation).primary().deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).primary().index().deleteRule('cascade').updateRule('no action'),
    /** Ids of apps. */
    granted: p.array().columnType('varchar(8)[]').defaultRaw(`'{}'`),
    revoked: p.array().columnType('varchar(8)[]').defaultRaw(`'{}'`),
    /** By app id, the terms of the revoked grants: who had granted them, why and until when. */
    revokedTerms: p.json<Record<string, GrantTerms>>().columnType('json').nullable(),
    /** Ids of the clients that the user became a member of. */
    joined: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
    /** Ids of the groups that the user was added to. */
    groups: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
    /** The new value; null if it did not change. */
    isActive: p.boolean().nullable(),
    /** Ids of the clients in whose membership `isActive` was set; empty if it was set in the account. */
    membersOf: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
    /** What it has ended or replaced in addition to grants. */
    ended: p.json<EndedPart[]>().columnType('json').nullable(),
    changedAt: instant(),
    /** The outcome of the undo. Once it is set, the columns above no longer apply. */
    undone: p.json<UndoneChange>().columnType('json').nullable(),
  },
});
