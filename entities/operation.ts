import { defineEntity, p } from '@mikro-orm/core';
import { instant } from './columns.ts';
import { User } from './user.ts';

/** A change of many users, whose audit entries have its id in `details.operation`. */
export const Operation = defineEntity({
  name: 'Operation',
  tableName: 'operations',
  indexes: [{ properties: ['startedAt'] }],
  properties: {
    id: p.uuid().primary(),
    /** The actor. Without a foreign key, whose check would lock their row after those of the changed users. */
    userId: p.integer(),
    /** What it changes. Only requests for the same change may continue it. */
    change: p.text(),
    startedAt: instant(),
  },
});

/** What an operation has changed of a user, until it is undone or can no longer be undone. */
export const OperationChange = defineEntity({
  name: 'OperationChange',
  tableName: 'operation_changes',
  primaryKeys: ['operation', 'user'],
  properties: {
    operation: () => p.manyToOne(Operation).primary().deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).primary().index().deleteRule('cascade').updateRule('no action'),
    /** Ids of apps. */
    granted: p
      .array((id) => id)
      .columnType('varchar(8)[]')
      .defaultRaw(`'{}'`),
    revoked: p
      .array((id) => id)
      .columnType('varchar(8)[]')
      .defaultRaw(`'{}'`),
    /** Ids of the clients that the user became a member of. */
    joined: p.array(Number).columnType('int[]').defaultRaw(`'{}'`),
    /** The new value; null if it did not change. */
    isActive: p.boolean().nullable(),
    changedAt: instant(),
  },
});
