import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { Extra, Name, OptionalInput, Text } from './schemas/fields.ts';
import { distinct, Id, IdCursor } from './schemas/keys.ts';
import { limitedPagingFields, pagingFields, toPageRequest } from './schemas/lists.ts';
import { AnyObject, Instant, Output } from './schemas/outputs.ts';
import { memberProcedure, router } from './trpc.ts';

const route = routesOf('Saved global filters');

const SavedFilterOutput = Output('SavedFilter', {
  user: z.string(),
  stack: z.string(),
  hash: z.string(),
  name: z.string(),
  created: Instant,
  modified: Instant,
});

const FilterState = Output('SavedFilterState', {
  /** Null until the app has set it. */
  state: AnyObject.nullable(),
  version: z.string(),
  description: z.string(),
});

const FilterSharing = Output('SavedFilterSharing', { client: z.boolean(), groups: z.array(z.int()) });

const SharedFilter = Output('SharedFilter', {
  id: z.int(),
  stack_id: z.string(),
  hash: z.string(),
  name: z.string(),
  ...FilterState.shape,
  /** Email address of the owner. */
  user: z.string(),
  /** Of the owner. */
  full_name: z.string(),
  /** Whether the stack opens with it for the caller. */
  is_default: z.boolean(),
});

const StackDefault = Output('StackDefault', {
  filter: SharedFilter.nullable(),
  /** Id of the group whose default it is; null for the caller’s own. */
  group: z.int().nullable(),
});

const SavedFilterInput = z.object({
  stack_id: Text(255),
  hash: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'Must be 1 to 64 characters from A-Z, a-z, 0-9, _ and -.'),
  name: Name(255),
});
/** Any text is accepted: a malformed hash is not found. */
const HashKey = Text(255);

const ByHash = z.object({ hash: HashKey });
const ByStack = z.object({ stack_id: Text(255) });

const MAX_GROUPS = 50;
/** Few, because each item may have 64 KiB. */
const sharedPaging = { ...limitedPagingFields(IdCursor), page_size: z.int().min(1).max(200).optional() };

const path = '/hashr/saved_global_filters/';

export const savedFiltersRouter = router({
  list: route(memberProcedure, 'GET', path, { summary: 'List your saved filters', legacy: true })
    .input(OptionalInput(pagingFields(HashKey)))
    .output(z.array(SavedFilterOutput))
    .query(({ ctx, input }) => ctx.services.savedFilters.list(ctx.actor, toPageRequest(ctx, input))),

  listByStack: route(memberProcedure, 'GET', `${path}stack/{stack_id}/`, {
    summary: 'List your saved filters of a stack',
    legacy: true,
  })
    .input(ByStack.extend(pagingFields(HashKey)))
    .output(z.array(SavedFilterOutput))
    .query(({ ctx, input }) =>
      ctx.services.savedFilters.listByStack(ctx.actor, input.stack_id, toPageRequest(ctx, input)),
    ),

  get: route(memberProcedure, 'GET', `${path}{hash}/`, { summary: 'Get a saved filter', legacy: true })
    .input(ByHash)
    .output(SavedFilterOutput)
    .query(({ ctx, input }) => ctx.services.savedFilters.get(ctx.actor, input.hash)),

  create: route(memberProcedure, 'POST', path, {
    summary: 'Save a filter',
    description: 'This POST requires the CSRF token even with an API token.',
    status: 201,
    resourceQuery: 'savedFilters.get',
    example: { name: 'Spring' },
    legacy: true,
  })
    .input(SavedFilterInput)
    .output(SavedFilterOutput)
    .mutation(({ ctx, input }) => ctx.services.savedFilters.create(ctx.actor, input)),

  /** `hash` in the path is the current hash, `filter.hash` the new one. */
  replace: route(memberProcedure, 'PUT', `${path}{hash}/`, {
    summary: 'Replace a saved filter',
    description: 'Returns 204, or with `Prefer: return=representation` the filter.',
    status: 204,
    body: 'filter',
    resourceQuery: 'savedFilters.get',
    example: { name: 'Spring and summer' },
    legacy: true,
  })
    .input(ByHash.extend({ filter: SavedFilterInput }))
    .output(SavedFilterOutput)
    .mutation(({ ctx, input: { hash, filter } }) =>
      ctx.services.savedFilters.replace(ctx.actor, hash, filter),
    ),

  remove: route(memberProcedure, 'DELETE', `${path}{hash}/`, {
    summary: 'Delete a saved filter',
    resourceQuery: 'savedFilters.get',
    legacy: true,
  })
    .input(ByHash)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.savedFilters.remove(ctx.actor, input.hash)),

  getState: route(memberProcedure, 'GET', `${path}{hash}/state/`, {
    summary: 'Get the state of a saved filter',
  })
    .input(ByHash)
    .output(FilterState)
    .query(({ ctx, input }) => ctx.services.savedFilters.getState(ctx.actor, input.hash)),

  setState: route(memberProcedure, 'PUT', `${path}{hash}/state/`, {
    summary: 'Set the state of a saved filter',
    description: 'The app chooses `version`, so that it can read its own older states.',
    resourceQuery: 'savedFilters.getState',
    example: { state: { region: ['north'] }, version: '2', description: 'Northern regions' },
  })
    .input(ByHash.extend({ state: Extra, version: Text(64).default(''), description: Text(500).default('') }))
    .output(FilterState)
    .mutation(({ ctx, input: { hash, ...state } }) =>
      ctx.services.savedFilters.setState(ctx.actor, hash, state),
    ),

  getSharing: route(memberProcedure, 'GET', `${path}{hash}/sharing/`, {
    summary: 'Show with whom a saved filter is shared',
  })
    .input(ByHash)
    .output(FilterSharing)
    .query(({ ctx, input }) => ctx.services.filterSharing.get(ctx.actor, input.hash)),

  setSharing: route(memberProcedure, 'PUT', `${path}{hash}/sharing/`, {
    summary: 'Share a saved filter',
    description:
      '`client`: with all who can open the app. `groups`: with members of these groups of its client, to which you belong or whose people you manage.',
    resourceQuery: 'savedFilters.getSharing',
    example: { client: true, groups: [] },
  })
    .input(ByHash.extend({ client: z.boolean(), groups: distinct(Id, MAX_GROUPS) }))
    .output(FilterSharing)
    .mutation(({ ctx, input: { hash, ...sharing } }) =>
      ctx.services.filterSharing.set(ctx.actor, hash, sharing),
    ),

  listShared: route(memberProcedure, 'GET', `${path}shared/`, {
    summary: 'List the filters that others share with you',
    description:
      'Only of stacks of apps that you see. A shared filter hands over its state, and nothing that its owner may see. `cursor` is the id of the last filter of the previous page.',
  })
    .input(OptionalInput({ stack_id: Text(255).optional(), ...sharedPaging }))
    .output(z.array(SharedFilter))
    .query(({ ctx, input }) =>
      ctx.services.sharedFilters.list(ctx.actor, input.stack_id, toPageRequest(ctx, input)),
    ),

  getDefault: route(memberProcedure, 'GET', `${path}defaults/{stack_id}/`, {
    summary: 'Get the filter with which a stack opens',
    description: 'Your own default, or that of your group with the lowest id. Otherwise `filter` is null.',
  })
    .input(ByStack)
    .output(StackDefault)
    .query(({ ctx, input }) => ctx.services.sharedFilters.getDefault(ctx.actor, input.stack_id)),

  setDefault: route(memberProcedure, 'PUT', `${path}defaults/{stack_id}/`, {
    summary: 'Set the filter with which a stack opens',
    description:
      'For you or, with `group`, for the members of a group whose people you manage. `filter` is the id of a filter of yours or shared with you; null removes the default.',
    problems: ['forbidden'],
  })
    .input(ByStack.extend({ filter: Id.nullable(), group: Id.optional() }))
    .output(z.void())
    .mutation(({ ctx, input: { stack_id: stackId, ...chosen } }) =>
      ctx.services.sharedFilters.setDefault(ctx.actor, stackId, chosen),
    ),
});
