import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { Name, OptionalInput, Text } from './schemas/fields.ts';
import { pagingFields, toPageRequest } from './schemas/lists.ts';
import { Instant, Output } from './schemas/outputs.ts';
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

const SavedFilterInput = z.object({
  stack_id: Text(255),
  hash: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'Must be 1 to 64 characters from A-Z, a-z, 0-9, _ and -.'),
  name: Name(255),
});
/** Any text is accepted: a malformed hash is not found. */
const HashKey = Text(255);

const ByHash = z.object({ hash: HashKey });
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
    .input(z.object({ stack_id: Text(255), ...pagingFields(HashKey) }))
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
});
