import { z } from 'zod';
import { DIRECTORY_MODES, GROUP_CHANGES, PERSON_CHANGES } from '../src/services/directory/directory-rows.ts';
import { routesOf } from './procedure-meta.ts';
import { BodyInstant, Name, Text } from './schemas/fields.ts';
import { ById, IdCursor, LongIdKey } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { router, settingsProcedure } from './trpc.ts';

const route = routesOf('Directories');

const Count = z.int();
const Mode = z.enum(DIRECTORY_MODES);
/** By key of `extra`, the path of an attribute. */
const Attributes = z.record(z.string(), z.string()).meta({ examples: [{ title: 'title' }] });

const DirectoryOutput = Output('Directory', {
  client: z.int(),
  /** Where the directory sends its requests (SCIM 2.0). */
  address: z.string().meta({ examples: ['https://steward.acme.test/scim/v2/1'] }),
  /** `show`: nothing changes, but the directory gets the answers that it would get. */
  mode: Mode,
  attributes: Attributes,
  /** What the directory states. */
  people: Count,
  groups: Count,
  /** What is not as it states, by kind of change. */
  changes: z.record(z.string(), Count).meta({ examples: [{ join: 41, suspend: 3 }] }),
  group_changes: z.record(z.string(), Count).meta({ examples: [{ create: 7 }] }),
  /** People whose membership may end only after an approval, and when the last of them was held. */
  held: Count,
  held_until: Instant.nullable(),
  /** The memberships that would be suspended or ended. */
  ends: Count,
  /** What is being applied in the background. */
  due: Count,
  /** What could not be applied. */
  problems: Count,
  last_request_at: Instant.nullable(),
});

/** What waits, and why it has not happened. */
const waitingFields = {
  problem: z.string().nullable(),
  due_at: Instant.nullable(),
};

const PersonChangeOutput = Output('DirectoryPersonChange', {
  id: z.string(),
  /** Null: only a problem. */
  change: z.enum(PERSON_CHANGES).nullable(),
  user_name: z.string(),
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  ...waitingFields,
});

const GroupChangeOutput = Output('DirectoryGroupChange', {
  id: z.string(),
  change: z.enum(GROUP_CHANGES).nullable(),
  name: z.string(),
  /** The group of the client that it is, or would become. */
  group: z.int().nullable(),
  /** Members who would be added and removed. */
  added: Count,
  removed: Count,
  ...waitingFields,
});

const HeldOutput = Output('DirectoryHold', {
  /** Of the person. */
  id: z.int(),
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  held_at: Instant,
  /** Null: it waits. */
  approved_at: Instant.nullable(),
  is_last_admin: z.boolean(),
});

const RequestOutput = Output('DirectoryRequest', {
  id: z.int(),
  received_at: Instant,
  method: z.string(),
  /** Below the address of the directory. */
  path: z.string(),
  status: z.int(),
  error: z.string().nullable(),
});

const Key = Text(100).regex(/^[\w-]+$/, 'Must have only letters, digits, _ and -.');
const MAX_ATTRIBUTES = 50;

const Settings = z.object({
  mode: Mode.optional(),
  ends: z.int().min(0).optional(),
  attributes: z
    .record(Key, Name(200))
    .refine(
      (attributes) => Object.keys(attributes).length <= MAX_ATTRIBUTES,
      `Must have at most ${MAX_ATTRIBUTES}.`,
    )
    .optional(),
});

/** The id of the last one of the previous page. */
const changeFields = limitedPagingFields(Text(36));

export const directoryRouter = router({
  get: route(settingsProcedure, 'GET', '/jb/clients/{id}/directory/', {
    summary: 'Get the directory of a client',
    description: 'Its settings, and what is not as it states.',
  })
    .input(ById)
    .output(DirectoryOutput)
    .query(({ ctx, input }) => ctx.services.directories.get(ctx.actor, input.id)),

  update: route(settingsProcedure, 'PATCH', '/jb/clients/{id}/directory/', {
    summary: 'Change the directory of a client',
    description:
      'With the mode `apply`, what the directory has stated takes effect: in the background at first, then with each of its requests. Set again, it applies what differs by now. Nothing changes if more memberships than `ends` would be suspended or ended at first (default 0). `attributes` replaces the mapping of attributes to `extra`.',
    problems: ['reauthentication-required', 'precondition-failed'],
    example: { mode: 'apply', ends: 3 },
  })
    .input(ById.extend(Settings.shape))
    .output(DirectoryOutput)
    .mutation(({ ctx, input: { id, ...changes } }) =>
      ctx.services.directories.update(ctx.actor, id, changes),
    ),

  listPeople: route(settingsProcedure, 'GET', '/jb/clients/{id}/directory/people/', {
    summary: 'List people who are not as a directory states them',
    description: '`change=problem`: those that could not be applied.',
  })
    .input(ById.extend({ ...changeFields, change: z.enum([...PERSON_CHANGES, 'problem']).optional() }))
    .output(z.array(PersonChangeOutput))
    .query(({ ctx, input }) =>
      ctx.services.directories.listPeople(ctx.actor, input.id, {
        ...toPageRequest(ctx, input),
        change: input.change,
      }),
    ),

  listGroups: route(settingsProcedure, 'GET', '/jb/clients/{id}/directory/groups/', {
    summary: 'List groups that are not as a directory states them',
  })
    .input(ById.extend({ ...changeFields, change: z.enum([...GROUP_CHANGES, 'problem']).optional() }))
    .output(z.array(GroupChangeOutput))
    .query(({ ctx, input }) =>
      ctx.services.directories.listGroups(ctx.actor, input.id, {
        ...toPageRequest(ctx, input),
        change: input.change,
      }),
    ),

  listHeld: route(settingsProcedure, 'GET', '/jb/clients/{id}/directory/held/', {
    summary: 'List people whose memberships a directory wants to end',
    description: 'Those that wait for an approval, and those that were approved within a day.',
  })
    .input(ById.extend(limitedPagingFields(IdCursor)))
    .output(z.array(HeldOutput))
    .query(({ ctx, input }) =>
      ctx.services.directoryHolds.list(ctx.actor, input.id, toPageRequest(ctx, input)),
    ),

  requests: route(settingsProcedure, 'GET', '/jb/clients/{id}/directory/requests/', {
    summary: 'List the last requests of a directory',
    description: 'The last 1,000 of seven days, newest first.',
  })
    .input(ById.extend(limitedPagingFields(LongIdKey)))
    .output(z.array(RequestOutput))
    .query(({ ctx, input }) =>
      ctx.services.directories.requests(ctx.actor, input.id, toPageRequest(ctx, input)),
    ),

  approve: route(settingsProcedure, 'POST', '/jb/clients/{id}/directory/approve/', {
    summary: 'Let a directory end the memberships that were held',
    description:
      'For a day. `held` and `held_until` are those that you have seen: if these people are not the same by now, nothing is approved.',
    problems: ['reauthentication-required', 'precondition-failed'],
    status: 200,
    example: { held: 41, held_until: '2026-11-30T12:00:00.000Z' },
  })
    .input(ById.extend({ held: z.int().min(1), held_until: BodyInstant }))
    .output(DirectoryOutput)
    .mutation(async ({ ctx, input: { id, held, held_until: until } }) => {
      await ctx.services.directoryHolds.approve(ctx.actor, id, { held, until });
      return ctx.services.directories.get(ctx.actor, id);
    }),
});
