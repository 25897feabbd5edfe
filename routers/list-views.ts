import { z } from 'zod';
import { findJsonProblem, isReadableJson } from '../src/lib/json-value.ts';
import { LISTS } from '../src/services/users/list-views.ts';
import { routesOf } from './procedure-meta.ts';
import { changesOf, Name, OptionalInput } from './schemas/fields.ts';
import { ById, Id, IdCursor } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import { AnyObject, Instant, Output } from './schemas/outputs.ts';
import { router, viewerProcedure } from './trpc.ts';

const route = routesOf('List views');

const MAX_BYTES = 4_096;
const KEY = /^[a-z][a-z0-9_]{0,49}$/;
/** Also in the address of a list: a view has these beside its search. */
const NO_FILTERS = ['client', 'view'];

const isFlat = (value: unknown): boolean =>
  ['string', 'number', 'boolean'].includes(typeof value) || (Array.isArray(value) && value.every(isScalar));
const isScalar = (value: unknown): boolean => !Array.isArray(value) && isFlat(value);

const findSearchProblem = (value: unknown): string | null => {
  const reason = findJsonProblem(value);
  if (reason !== null) return reason;
  const search = value as Record<string, unknown>; // checked above
  // `constructor` and the like are keys of every object.
  const badKey = Object.keys(search).find((key) => !KEY.test(key) || key in {} || NO_FILTERS.includes(key));
  if (badKey !== undefined) return 'Keys must be names of filters: lower-case letters, digits and _.';
  if (!Object.values(search).every(isFlat))
    return 'Values must be texts, numbers, true or false, or lists of these.';
  if (!isReadableJson(search)) return 'Must not contain null characters or invalid Unicode.';
  return Buffer.byteLength(JSON.stringify(search)) > MAX_BYTES ? 'Must not be larger than 4 KiB.' : null;
};

const Search = z
  .custom<Record<string, unknown>>()
  .superRefine((value, context) => {
    const message = findSearchProblem(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  })
  .meta({ json: { type: 'object', additionalProperties: true } });

const ListViewOutput = Output('ListView', {
  id: z.int(),
  list: z.enum(LISTS),
  name: z.string().meta({ examples: ['Without a second factor'] }),
  /** The client whose rows it lists. Null: of all clients. */
  client: z.int().nullable(),
  /** Whether all who see the list in the client see the view. */
  is_shared: z.boolean(),
  /** As in the address of the list, without the client. */
  search: AnyObject.meta({ examples: [{ second_factor: false }] }),
  is_own: z.boolean(),
  /** Whether you may change and delete it. */
  can_change: z.boolean(),
  /** Whether it is in your navigation. */
  is_pinned: z.boolean(),
  created_at: Instant,
  modified_at: Instant,
});

const fields = {
  name: Name(100),
  search: Search,
  client: Id.nullable().default(null),
  is_shared: z.boolean().default(false),
};

export const listViewsRouter = router({
  list: route(viewerProcedure, 'GET', '/jb/list-views/', {
    summary: 'List saved views of lists',
    description:
      'Your own, and those that others share in clients whose lists you see. `client` selects views of this client and of all clients. `cursor` is the id of the last view of the previous page.',
  })
    .input(
      OptionalInput({
        list: z.enum(LISTS).optional(),
        client: Id.optional(),
        is_pinned: z.boolean().optional(),
        ...limitedPagingFields(IdCursor),
      }),
    )
    .output(z.array(ListViewOutput))
    .query(({ ctx, input }) => ctx.services.listViews.list(ctx.actor, input, toPageRequest(ctx, input))),

  create: route(viewerProcedure, 'POST', '/jb/list-views/', {
    summary: 'Save a view of a list',
    description:
      '`search` has the filters, columns and order as in the address of the list: texts, numbers, booleans and lists of these, at most 4 KiB. A shared view needs its `client`.',
    problems: ['not-found', 'forbidden'],
    status: 201,
    example: { list: 'people', name: 'Without a second factor', search: { second_factor: false }, client: 1 },
  })
    .input(z.object({ list: z.enum(LISTS), ...fields }))
    .output(ListViewOutput)
    .mutation(({ ctx, input }) => ctx.services.listViews.create(ctx.actor, input)),

  update: route(viewerProcedure, 'PATCH', '/jb/list-views/{id}/', {
    summary: 'Update a saved view',
    description: 'By its author. A shared one also by those who configure its client.',
    problems: ['forbidden'],
    example: { is_shared: true },
  })
    .input(ById.extend(changesOf(fields).shape))
    .output(ListViewOutput)
    .mutation(({ ctx, input: { id, ...changes } }) => ctx.services.listViews.update(ctx.actor, id, changes)),

  remove: route(viewerProcedure, 'DELETE', '/jb/list-views/{id}/', {
    summary: 'Delete a saved view',
    problems: ['forbidden'],
  })
    .input(ById)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.listViews.remove(ctx.actor, input.id)),

  pin: route(viewerProcedure, 'PUT', '/jb/list-views/{id}/pin/', {
    summary: 'Pin a saved view to your navigation',
    description: 'With `is_pinned: false`, it is taken out.',
    example: { is_pinned: true },
  })
    .input(ById.extend({ is_pinned: z.boolean() }))
    .output(ListViewOutput)
    .mutation(({ ctx, input }) => ctx.services.listViews.pin(ctx.actor, input.id, input.is_pinned)),
});
