import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';
import { User } from './user.ts';

/**
 * What an offboarding has ended beside grants. `key`: the id of a group or an access view; the flag of a role in all clients; the name of
 * a role in one client, and its id: `client-admin:1`.
 */
export const ENDED_KINDS = ['group', 'client-role', 'role', 'access-view'] as const;

export type EndedPart = {
  kind: (typeof ENDED_KINDS)[number];
  key: string;
  /** Of a group: who had added the person, and when. Times are ISO 8601. */
  added_by?: number | null;
  added_at?: string;
};

/** What can be undone of a user's changes. `app_id` and `group_id` are null for what is no app and no group. */
export const UNDONE_KINDS = ['app', 'activation', ...ENDED_KINDS] as const;

export type UndoablePart = {
  kind: (typeof UNDONE_KINDS)[number];
  app_id: string | null;
  group_id: number | null;
};

/** A part that an undo has left, and why. */
export type SkippedPart = UndoablePart & { problem: { code: string; detail: string } };

/** What the undo has reverted of a user's changes, and what it has left. */
export type UndoneChange = { reverted: number; skipped: SkippedPart[] };

/** Terms of a grant. Times are ISO 8601. */
export type GrantTerms = {
  granted_by: number | null;
  granted_at: string | null;
  expires_at: string | null;
  reason: string;
};

/** A change of many users, whose audit entries have its id in `details.operation`. */
export const Operation = defineEntity({
  name: 'Operation',
  tableName: 'operations',
  indexes: [{ properties: ['startedAt'] }],
  properties: {
    id: p.uuid().primary(),
    /** The actor. Without a foreign key, whose check would lock their row after those of the changed users. */
    userId: p.integer(),
    /** The client to which the actor's credential was confined. */
    confinedTo: p.integer().nullable(),
    /** What it changes. Only requests for the same change may continue it. */
    change: p.text(),
    startedAt: instant(),
  },
});

/** What an operation has changed of a user and what its undo has reverted, for a day. */
export const OperationChange = defineEntity({
  name: 'OperationChange',
  tableName: 'operation_changes',
  properties: {
    operation: () => p.manyToOne(Operation).primary().deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).primary().index().deleteRule('cascade').updateRule('no action'),
    /** Ids of apps. */
    granted: p.array().columnType('varchar(8)[]').defaultRaw(`'{}'`),
    revoked: p.array().columnType('varchar(8)[]').defaultRaw(`'{}'`),
    /** Who had granted the revoked apps, why and until when, by their ids. */
    revokedTerms: p.json<Record<string, GrantTerms>>().columnType('json').nullable(),
    /** Ids of the clients that the user became a member of. */
    joined: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
    /** Ids of the groups that the user was added to. */
    groups: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
    /** The new value; null if it did not change. */
    isActive: p.boolean().nullable(),
    /** Ids of the clients whose membership has the new value of `isActive`; empty if the account has it. */
    membersOf: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
    /** What an offboarding has ended beside grants. */
    ended: p.json<EndedPart[]>().columnType('json').nullable(),
    changedAt: instant(),
    /** The outcome of the undo. The values above then count no more. */
    undone: p.json<UndoneChange>().columnType('json').nullable(),
  },
});
