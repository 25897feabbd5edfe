import { defineEntity, p } from '@mikro-orm/core';
import { Client, MembershipSchema } from './client.ts';
import { index, instant, jsonObject, uniqueIndex } from './columns.ts';
import { Group } from './group.ts';
import { Invitation } from './invitation.ts';

/** `show`: the service only shows what the directory would change. `apply`: what the directory states takes effect. */
export const DIRECTORY_MODES = ['show', 'apply'] as const;
export type DirectoryMode = (typeof DIRECTORY_MODES)[number];

/** How the directory of a client (SCIM) provisions its people. */
export const Directory = defineEntity({
  name: 'Directory',
  tableName: 'directories',
  properties: {
    client: () => p.manyToOne(Client).primary().deleteRule('cascade').updateRule('no action'),
    mode: p.enum(DIRECTORY_MODES).default('show'),
    /** By key of `extra`, the path of the attribute that gives its value. */
    attributes: p.json<Record<string, string>>().columnType('json').defaultRaw(`'{}'`),
  },
});

const key = () => p.string().length(36);

/** Of what a directory states. */
const stated = () => ({
  externalId: p.string().length(255).nullable(),
  /** All its attributes in the form of SCIM, without those that the service assigns. */
  resource: jsonObject(),
  version: p.integer().default(1),
  /** Whether the directory has deleted it while the mode was `show`. */
  isRemoved: p.boolean().default(false),
  /** When a worker applies it; null: it is applied, or only shown. */
  dueAt: instant().nullable(),
  /** Why it could not be applied. */
  problem: p.string().length(500).nullable(),
  /** The service account whose token stated it last. No foreign key: see `AppGrant.grantedBy`. */
  statedBy: p.integer(),
  createdAt: instant(),
  modifiedAt: instant(),
});

/**
 * A person as the directory of a client states them (a SCIM user). What they may do follows from their membership; this row says what the
 * membership should be, and ends with it.
 */
export const DirectoryPerson = defineEntity({
  name: 'DirectoryPerson',
  tableName: 'directory_people',
  indexes: [
    uniqueIndex(
      'directory_people_user_name',
      'directory_people (client_id, lower(user_name)) where not is_removed',
    ),
    uniqueIndex('directory_people_email', 'directory_people (client_id, email) where not is_removed'),
    index('directory_people_removed', 'directory_people (client_id, email) where is_removed'),
    index('directory_people_addresses', 'directory_people using gin (addresses)'),
    index('directory_people_due', 'directory_people (due_at) where due_at is not null'),
    { properties: ['client', 'externalId'] },
    { properties: ['client', 'createdAt', 'id'] },
    uniqueIndex('directory_people_membership', 'directory_people (client_id, user_id)'),
    { properties: ['invitation'] },
  ],
  properties: {
    id: key().primary(),
    client: () => p.manyToOne(Client).deleteRule('cascade').updateRule('no action'),
    userName: p.string().length(255),
    /** By which the person is found or invited. */
    email: p.string().length(254),
    /** All addresses of the resource, in lower case. */
    addresses: p.array().columnType('text[]').defaultRaw(`'{}'`),
    firstName: p.string().length(150).default(''),
    lastName: p.string().length(150).default(''),
    /** What the attributes of the directory give `extra` of the membership. */
    extra: jsonObject(),
    isActive: p.boolean(),
    ...stated(),
    /** Null until the person is a member. */
    userId: p.integer().nullable(),
    membership: () =>
      p
        .manyToOne(MembershipSchema)
        .fieldNames('client_id', 'user_id')
        .nullable()
        .deleteRule('cascade')
        .updateRule('no action'),
    /** The invitation that the directory has caused. */
    invitation: () => p.manyToOne(Invitation).nullable().deleteRule('set null').updateRule('no action'),
  },
});

/** A group as the directory of a client states it (a SCIM group). Ends with the group of the client that it has become. */
export const DirectoryGroup = defineEntity({
  name: 'DirectoryGroup',
  tableName: 'directory_groups',
  indexes: [
    uniqueIndex(
      'directory_groups_name',
      'directory_groups (client_id, lower(display_name)) where not is_removed',
    ),
    index('directory_groups_due', 'directory_groups (due_at) where due_at is not null'),
    { properties: ['client', 'externalId'] },
    { properties: ['client', 'createdAt', 'id'] },
    { properties: ['group'] },
  ],
  properties: {
    id: key().primary(),
    client: () => p.manyToOne(Client).deleteRule('cascade').updateRule('no action'),
    displayName: p.string().length(100),
    ...stated(),
    /** Whether the group existed before: it then outlives this row. */
    isAdopted: p.boolean().default(false),
    /** Null until it is applied. */
    group: () => p.manyToOne(Group).nullable().deleteRule('cascade').updateRule('no action'),
  },
});

export const DirectoryMember = defineEntity({
  name: 'DirectoryMember',
  tableName: 'directory_members',
  properties: {
    group: () => p.manyToOne(DirectoryGroup).primary().deleteRule('cascade').updateRule('no action'),
    person: () =>
      p.manyToOne(DirectoryPerson).primary().index().deleteRule('cascade').updateRule('no action'),
  },
});

/** The end of a membership that a directory has tried, and that waits for an approval. */
export const DirectoryHold = defineEntity({
  name: 'DirectoryHold',
  tableName: 'directory_holds',
  properties: {
    clientId: p.integer().primary(),
    userId: p.integer().primary(),
    membership: () =>
      p
        .manyToOne(MembershipSchema)
        .fieldNames('client_id', 'user_id')
        .nullable()
        .deleteRule('cascade')
        .updateRule('no action'),
    /** Whether it was the last admin of the client. */
    isLastAdmin: p.boolean(),
    heldAt: instant(),
    /** When the directory last tried. */
    triedAt: instant(),
    /** When an admin approved it; null if none has. */
    approvedAt: instant().nullable(),
  },
});

/** The end of a membership by a directory, for the limit of a day. */
export const DirectoryEnding = defineEntity({
  name: 'DirectoryEnding',
  tableName: 'directory_endings',
  indexes: [{ properties: ['client', 'endedAt'] }],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    client: () => p.manyToOne(Client).deleteRule('cascade').updateRule('no action'),
    endedAt: instant(),
  },
});

/** A request of a directory, for its admins to read. */
export const DirectoryRequest = defineEntity({
  name: 'DirectoryRequest',
  tableName: 'directory_requests',
  indexes: [{ properties: ['client', 'id'] }],
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    client: () => p.manyToOne(Client).deleteRule('cascade').updateRule('no action'),
    receivedAt: instant(),
    method: p.string().length(8),
    /** Below the address of the directory. */
    path: p.string().length(500),
    status: p.integer(),
    /** Why it was refused. */
    error: p.string().length(500).nullable(),
  },
});
