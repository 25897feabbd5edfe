import { z } from 'zod';
import { freeForm, isJsonObject } from '../src/lib/json-value.ts';
import { AttributeKey, AttributeSchema } from '../src/services/attributes/attribute-schema.ts';
import { LAYERS } from '../src/services/attributes/effective-values.ts';
import { ATTRIBUTE_MODES } from '../src/services/attributes/given-values.ts';
import { MAX_BULK_USERS } from '../src/services/operations/bulk-update.ts';
import { appName } from './apps.ts';
import { routesOf } from './procedure-meta.ts';
import { ANY_JSON, Extra, FreeValue } from './schemas/fields.ts';
import { AppKey, ByApp, ById, EmailKey } from './schemas/keys.ts';
import { pagingFields, toPageRequest } from './schemas/lists.ts';
import { AnyObject, Output } from './schemas/outputs.ts';
import { personIdentity } from './schemas/users.ts';
import { peopleProcedure, router, settingsProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Data permissions');

/** A report of most apps is one response. */
const ReportLimit = z.int().min(1).max(10_000).default(10_000);

const Mode = z.enum(ATTRIBUTE_MODES);

/** A JSON Schema of the subset that `docs/data-permissions.md` describes. */
const Schema = Extra.pipe(AttributeSchema);

const AttributesOutput = Output('ClientAttributes', {
  /** Of the data permissions that several apps share; null: none. */
  schema: AnyObject.nullable(),
  mode: Mode,
  /** The apps whose packages declare data permissions or roles. */
  apps: z.array(
    Output('AppAttributes', {
      ...appName,
      schema: AnyObject.nullable(),
      roles: z.array(z.object({ key: z.string(), label: z.string(), description: z.string() })),
    }),
  ),
});

const StateOutput = z.object({
  allowed: z.boolean(),
  data_permissions: AnyObject.nullable(),
  /** What is wrong; empty if nothing is. */
  detail: z.string(),
});

const SchemaChangesOutput = Output('SchemaChanges', {
  /** Pairs of a person and an app that the change touches, that lose access, and that gain it. */
  touched: z.int(),
  losing: z.int(),
  gaining: z.int(),
  /** The first 200; those that lose access come first. */
  people: z.array(
    z.object({ email: z.string(), app_id: z.string(), before: StateOutput, after: StateOutput }),
  ),
});

const Sources = z.array(z.object({ from: z.enum(LAYERS), name: z.string().nullable() }));

/** Marks objects as free-form: a key may be `__proto__`. */
const freeValue = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(freeValue);
  return isJsonObject(value) ? freeForm(value) : value;
};

const AnyValue = z.unknown().transform(freeValue).meta({ json: ANY_JSON });

const PersonDataOutput = Output('PersonDataPermissions', {
  /** Whether the app opens for the person. */
  allowed: z.boolean(),
  mode: Mode,
  /** Without a schema, the app gets `extra` as it is, and `attributes` is empty. */
  has_schema: z.boolean(),
  /** What the app gets. Null: nothing. */
  data_permissions: AnyObject.nullable(),
  /** By the schema, with the values that do not count, the nearest first. */
  attributes: z.array(
    z.object({
      key: z.string(),
      title: z.string(),
      value: AnyValue,
      sources: Sources,
      overrides: z.array(z.object({ value: AnyValue, sources: Sources })),
    }),
  ),
  /** What is wrong, and what to change. */
  faults: z.array(z.object({ key: z.string(), message: z.string() })),
  fix: z.string(),
  app_roles: z.array(z.string()),
});

const AppDataOutput = Output('AppDataPermissions', {
  ...personIdentity,
  allowed: z.boolean(),
  /** The data permissions in words: `region: North, South`. */
  sees: z.string(),
  faults: z.string(),
  app_roles: z.array(z.string()),
  data_permissions: AnyObject.nullable(),
});

export const dataPermissionsRouter = router({
  getSchema: route(viewerProcedure, 'GET', '/jb/clients/{id}/attributes/', {
    summary: 'Get the attributes of data permissions in a client',
  })
    .input(ById)
    .output(AttributesOutput)
    .query(({ ctx, input }) => ctx.services.clientAttributes.get(ctx.actor, input.id)),

  setSchema: route(settingsProcedure, 'PUT', '/jb/clients/{id}/attributes/', {
    summary: 'Set the attributes of data permissions in a client',
    description:
      'The response says whom the change touches; `dry_run` changes nothing else. With the mode `warn`, apps get `extra` as it is, and explanations warn; with `enforce`, apps with a schema get the effective values, and stay closed to people whose values are invalid.',
    query: ['dry_run'],
    example: {
      schema: {
        properties: { region: { type: 'array', items: { enum: ['North', 'South'] } } },
        required: ['region'],
      },
      mode: 'warn',
    },
  })
    .input(ById.extend({ schema: Schema.nullable(), mode: Mode, dry_run: z.boolean().default(false) }))
    .output(SchemaChangesOutput)
    .mutation(async ({ ctx, input: { id, dry_run: isPreview, ...attributes } }) => {
      ctx.timeLimit.lift();
      const changes = await ctx.services.clientAttributes.preview(ctx.actor, id, attributes);
      if (!isPreview) await ctx.services.clientAttributes.set(ctx.actor, id, attributes);
      return changes;
    }),

  previewValue: route(peopleProcedure, 'POST', '/jb/clients/{id}/attributes/preview/', {
    summary: 'Preview one attribute of many people',
    description:
      'Whom `value` in their memberships would touch; without a value, without the attribute. The action `set-attribute` of `POST /api/v1/jb/users/bulk/` sets it. Nothing is saved.',
    example: { emails: ['ada@acme.test'], attribute: 'region', value: ['North'] },
  })
    .input(
      ById.extend({
        emails: z.array(EmailKey).min(1).max(MAX_BULK_USERS),
        attribute: AttributeKey,
        value: FreeValue,
      }),
    )
    .output(SchemaChangesOutput)
    .mutation(({ ctx, input: { id, emails, attribute, value } }) => {
      ctx.timeLimit.lift();
      return ctx.services.clientAttributes.previewValue(ctx.actor, id, { emails, attribute, value });
    }),

  previewLoad: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/load-preview/', {
    summary: 'Preview the data permissions of the package that the next load applies',
    description: 'Whom its attributes would touch. All counts are 0 if no package was fetched.',
  })
    .input(ByApp)
    .output(SchemaChangesOutput)
    .query(({ ctx, input }) => {
      ctx.timeLimit.lift();
      return ctx.services.clientAttributes.previewLoad(ctx.actor, input.app_id);
    }),

  ofPerson: route(viewerProcedure, 'GET', '/jb/users/{email}/data-permissions/{app_id}/', {
    summary: 'Get what an app gets about a person, and why',
    description: 'Sensitive values are masked for callers who do not manage people.',
  })
    .input(z.object({ email: EmailKey, app_id: AppKey }))
    .output(PersonDataOutput)
    .query(({ ctx, input }) => ctx.services.dataPermissions.ofPerson(ctx.actor, input.email, input.app_id)),

  ofApp: route(viewerProcedure, 'GET', '/jb/apps/{app_id}/data-permissions/', {
    summary: 'List who sees which data in an app',
    description:
      'Active people who have it, by email address, at most 10,000. `cursor` is the last address of the previous page. As CSV with `Accept: text/csv`.',
  })
    .input(z.object({ app_id: AppKey, ...pagingFields(EmailKey), limit: ReportLimit }))
    .output(z.array(AppDataOutput))
    .query(({ ctx, input }) =>
      ctx.services.dataPermissions.ofApp(ctx.actor, input.app_id, toPageRequest(ctx, input)),
    ),
});
