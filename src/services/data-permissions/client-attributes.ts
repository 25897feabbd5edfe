import { FetchedPackage } from '../../../entities/app.ts';
import type { AttributeMode } from '../../../entities/client.ts';
import type { Em } from '../../db/kysely.ts';
import { parseJson } from '../../lib/exact-json.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import type { Actor } from '../access/actor.ts';
import { requireViewableApp } from '../apps/app-rows.ts';
import { type AttributeSchema, schemaOf } from '../attributes/attribute-schema.ts';
import { updateDeclaredKeys } from '../attributes/declared-keys.ts';
import { namesOf, type Values } from '../attributes/effective-values.ts';
import { requireValidValues } from '../attributes/stated-values.ts';
import { type Changes, isEmpty, ofClient } from '../audit/audit.ts';
import { lockClient, readClient, readManagedClient } from '../clients/clients.ts';
import { PackageManifest } from '../packages/package-manifest.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { previewChanges, readSchemas, type SchemaChanges } from './schema-changes.ts';

type NewAttributes = { schema: AttributeSchema | null; mode: AttributeMode };

/** The data permissions that a client and its apps declare. */
export const createClientAttributes = ({ em, clock, audit }: UnitOfWork) => ({
  /** @throws Problem `not-found` */
  get: async (actor: Actor, clientId: number) => {
    await readClient(em, actor, clientId);
    return declaredIn(em, clientId);
  },

  /**
   * What a schema and a mode would change for each person.
   * @throws Problem `not-found`, `forbidden`
   */
  preview: async (
    actor: Actor,
    clientId: number,
    { schema, mode }: NewAttributes,
  ): Promise<SchemaChanges> => {
    await readManagedClient(em, actor, clientId, 'configure');
    const { apps } = await readSchemas(em, clientId);
    const client_schema = schema && JSON.stringify(schema);
    return previewChanges(em, actor, clock.now(), {
      clientId,
      appIds: apps.map(({ id }) => id),
      keys: keysOf([client_schema, ...apps.map((app) => app.schema)]),
      change: () => ({ client_schema, attributes_mode: mode }),
    });
  },

  /**
   * What the package that the next load applies would change for each person; nothing if none was fetched.
   * @throws Problem `not-found`, `forbidden`
   */
  previewLoad: async (actor: Actor, appId: string): Promise<SchemaChanges> => {
    const { slug, client_id: clientId } = await requireViewableApp(em, actor, clock.now(), appId);
    const staged = await em.fork().findOne(FetchedPackage, { slug }, { orderBy: { id: 'desc' } });
    if (!staged) return { touched: 0, losing: 0, gaining: 0, people: [] };
    const { attributes } = PackageManifest.parse(staged.manifest);
    const app_schema = attributes ? JSON.stringify(attributes) : null;
    const { client, apps } = await readSchemas(em, clientId);
    const others = apps.filter(({ id }) => id !== appId).map(({ schema }) => schema);
    return previewChanges(em, actor, clock.now(), {
      clientId,
      appIds: [appId],
      keys: keysOf([client.schema, app_schema, ...others]),
      change: () => ({ app_schema }),
    });
  },

  /**
   * What a value of one attribute in the memberships of these people would change. Undefined: without the attribute.
   * @throws Problem `not-found`, `forbidden`, `invalid-input` on `attributes`
   */
  previewValue: async (
    actor: Actor,
    clientId: number,
    { emails, attribute, value }: NewValue,
  ): Promise<SchemaChanges> => {
    await readManagedClient(em, actor, clientId, 'manage-people');
    if (value !== undefined) await requireValidValues(em, { clientId, appId: null }, { [attribute]: value });
    const { client, apps } = await readSchemas(em, clientId);
    return previewChanges(em, actor, clock.now(), {
      clientId,
      emails,
      appIds: apps.map(({ id }) => id),
      keys: keysOf([client.schema, ...apps.map(({ schema }) => schema)]),
      change: ({ extra }) => ({ extra: changedValue(extra, attribute, value) }),
    });
  },

  /** @throws Problem `not-found`, `forbidden` */
  set: (actor: Actor, clientId: number, { schema, mode }: NewAttributes) =>
    em.transactional(async (tx) => {
      const { client } = await lockClient(tx, actor, clientId);
      const before = { attributes: client.attributes ?? null, mode: client.attributesMode };
      client.attributes = schema;
      client.attributesMode = mode;
      await tx.flush();
      await updateDeclaredKeys(tx, clientId);
      const details: Changes = {};
      if (canonicalJson(before.attributes) !== canonicalJson(schema))
        details.attributes = {
          from: namesOf(before.attributes?.properties as object),
          to: namesOf(schema?.properties),
        };
      if (before.mode !== mode) details.attributes_mode = { from: before.mode, to: mode };
      const event = { actor, target: ofClient(client), clients: [clientId], details };
      if (!isEmpty(details)) await audit.record(tx, [{ action: 'client.update', ...event }]);
      return declaredIn(tx, clientId);
    }),
});

type NewValue = { emails: readonly string[]; attribute: string; value: unknown };

const changedValue = (extra: Values | null, key: string, value: unknown) => {
  const { [key]: _, ...others } = extra ?? {};
  return value === undefined ? others : { ...others, [key]: value };
};

const declaredIn = async (em: Em, clientId: number) => {
  const { client, apps } = await readSchemas(em, clientId);
  return {
    schema: parsed(client.schema),
    mode: client.mode,
    apps: apps
      .filter(({ schema, roles }) => schema !== null || roles.length > 0)
      .map((app) => ({ ...app, schema: parsed(app.schema) })),
  };
};

const parsed = (text: string | null): Record<string, unknown> | null =>
  text === null ? null : parseJson(text);

const keysOf = (schemas: readonly (string | null)[]): string[] => [
  ...new Set(schemas.flatMap((text) => Object.keys(schemaOf(text)?.properties ?? {}))),
];
