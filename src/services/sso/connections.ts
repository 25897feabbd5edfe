import { type InferEntity, LockMode } from '@mikro-orm/postgresql';
import { type InferResult, sql } from 'kysely';
import { Client } from '../../../entities/client.ts';
import { SsoConnection } from '../../../entities/sso.ts';
import { arrayOf, condition, countIn, type Em, isAnyOf, kysely, pickDefined } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { type FieldErrors, invalid, notFound } from '../../lib/problems.ts';
import { ProviderError } from '../../lib/provider-error.ts';
import { createSealedSecrets } from '../../lib/sealed-box.ts';
import type { Actor } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { endConnectionAccess } from '../accounts/access-ends.ts';
import { type ActionOn, diffColumns, isEmpty, ofConnection } from '../audit/audit.ts';
import { readClient } from '../clients/clients.ts';
import { clientsOf, isOfClient, lockOwner, managesConnections, requireManager } from '../clients/domains.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { failureOf, SsoFailure } from './failures.ts';

/** A group for people whose groups claim has the value. */
type MappedGroup = { claim: string; group: number };

export type ConnectionInput = {
  name: string;
  issuer: string;
  client_id: string;
  /** Null removes it. */
  client_secret?: string | null | undefined;
  scopes: string;
  email_claim: string;
  first_name_claim: string;
  last_name_claim: string;
  groups_claim: string;
  /** By attribute of data permissions, the claim that states it. */
  attribute_claims: Record<string, string>;
  /** A claim that only accounts of the organization have, and its required value. Empty: no check. */
  required_claim: string;
  required_value: string;
  provisions: boolean;
  default_groups: number[];
  group_mapping: MappedGroup[];
};

export type ConnectionChanges = {
  [K in keyof ConnectionInput]?: ConnectionInput[K] | undefined;
} & { is_active?: boolean | undefined; is_required?: boolean | undefined };

const MAX_CONNECTIONS = 20;

/** Connections of a client to its identity providers. Without a client: the connection of the installation, for superusers and staff. */
export const createConnections = (unit: UnitOfWork) => {
  const { em, clock, audit, connectionSecrets, identityProvider } = unit;

  const record = (tx: Em, action: ActionOn<'connection'>, actor: Actor, row: ConnectionRow, details = {}) =>
    audit.record(tx, [
      {
        action,
        actor,
        target: ofConnection(row),
        clients: clientsOf(row.client),
        details: { id: row.id, ...details },
      },
    ]);

  /** Uses Kysely, which binds the value: MikroORM writes values into the text of its statements. */
  const setSecret = (tx: Em, id: number, secret: string | null) =>
    kysely(tx)
      .updateTable('sso_connections')
      .set({ sealed_secret: secret === null ? null : connectionSecrets.seal(id, secret) })
      .where('id', '=', id)
      .execute();

  /** Locks a connection that the actor may change. */
  const lock = async (tx: Em, actor: Actor, clientId: number | null, id: number) => {
    await requireManager(tx, actor, clientId, clock.now());
    const lockMode = LockMode.PESSIMISTIC_WRITE;
    const connection = await tx.findOne(SsoConnection, { id, client: clientId }, { lockMode });
    if (!connection) throw notFound('connection');
    return connection;
  };

  return {
    /** @throws Problem `not-found` for a client that the actor may not see */
    list: async (
      actor: Actor,
      clientId: number | null,
      page: CursorPageRequest,
    ): Promise<ConnectionRow[]> => {
      if (clientId !== null) await readClient(em, actor, clientId);
      const rows = connectionRows(em).where(isOfClient('c', clientId));
      return readPage(afterCursor(rows, 'id', page.cursor), 'id', page);
    },

    /** @throws Problem `not-found`, `forbidden`, `reauthentication-required`, `invalid-input` on `default_groups`, `group_mapping` */
    create: (actor: Actor, clientId: number | null, input: ConnectionInput): Promise<ConnectionRow> =>
      em.transactional(async (tx) => {
        await requireManager(tx, actor, clientId, clock.now());
        await lockOwner(tx, actor, clientId);
        if ((await tx.count(SsoConnection, { client: clientId })) >= MAX_CONNECTIONS)
          throw invalid({ name: [`A client can have ${MAX_CONNECTIONS} connections. Remove one first.`] });
        const connection = tx.create(SsoConnection, {
          client: clientId === null ? null : tx.getReference(Client, clientId),
          ...columnsOf(input),
          createdAt: clock.now(),
        });
        await tx.flush();
        if (input.client_secret) await setSecret(tx, connection.id, input.client_secret);
        await setGroups(tx, clientId, connection.id, input);
        const row = await readConnection(tx, clientId, connection.id);
        await record(tx, 'connection.create', actor, row, { issuer: row.issuer });
        return row;
      }),

    /**
     * A change of the issuer or `client_id` requires a new test; until then, the connection is inactive. When a connection becomes
     * inactive, the sessions and tokens that began with it end.
     * @throws the problems of `create`, and `invalid-input` on `is_active`, `is_required`
     */
    update: (actor: Actor, clientId: number | null, id: number, changes: ConnectionChanges) =>
      em.transactional(async (tx) => {
        const connection = await lock(tx, actor, clientId, id);
        const before = await readConnection(tx, clientId, id);
        const { client_secret: secret, default_groups: _, group_mapping: __, ...fields } = changes;
        Object.assign(connection, columnsOf({ ...before, ...pickDefined(fields) }));
        const isMoved = connection.issuer !== before.issuer;
        if (isMoved || connection.registeredAs !== before.client_id) {
          Object.assign(connection, { testedAt: null, isActive: false, isRequired: false });
          // At another provider, the ids belong to other people.
          if (isMoved) await endStated(tx, id);
          if (isMoved)
            await kysely(tx).deleteFrom('external_identities').where('connection_id', '=', id).execute();
        }
        connection.isActive = changes.is_active ?? connection.isActive;
        connection.isRequired = changes.is_required ?? connection.isRequired;
        if (connection.isActive && !(before.is_active && connection.testedAt))
          await requireActivatable(tx, connection);
        await tx.flush();
        if (connection.isRequired && !before.is_required) await requireRequirable(tx, actor, connection);
        if (before.is_active && !connection.isActive) {
          await endStated(tx, id);
          await endConnectionAccess(tx, id);
        }
        // The secret must not be sent to another provider.
        if (secret !== undefined || isMoved) await setSecret(tx, id, secret ?? null);
        await setGroups(tx, clientId, id, changes);
        const after = await readConnection(tx, clientId, id);
        const changed = diffColumns(before, after, Object.keys(after) as (keyof ConnectionRow)[]); // its own keys
        if (secret !== undefined) changed.client_secret = { from: null, to: null };
        if (!isEmpty(changed)) await record(tx, 'connection.update', actor, after, changed);
        return after;
      }),

    /**
     * Reads the metadata and the keys of the provider.
     * @throws Problem `not-found`, `forbidden`, `invalid-input` on `issuer`, `client_id`, SsoFailure
     */
    check: async (actor: Actor, clientId: number | null, id: number): Promise<void> => {
      if (!managesConnections(actor, clientId)) throw notFound('connection');
      const { issuer, client_id: registeredAs } = await readConnection(em, clientId, id);
      if (issuer === '') throw invalid({ issuer: ['Enter the address of the provider first.'] });
      if (registeredAs === '') throw invalid({ client_id: ['Enter the client ID first.'] });
      const { registration } = await openConnection(unit, id, true);
      await identityProvider.check(registration).catch((error: unknown) => {
        throw error instanceof ProviderError ? failureOf(error, true) : error;
      });
    },

    /** Removes the connection, with its sessions and tokens and the identities of its people. @throws the problems of `create` */
    remove: (actor: Actor, clientId: number | null, id: number): Promise<void> =>
      em.transactional(async (tx) => {
        const connection = await lock(tx, actor, clientId, id);
        const row = await readConnection(tx, clientId, id);
        await endStated(tx, id);
        await tx.remove(connection).flush();
        await record(tx, 'connection.remove', actor, row);
      }),
  };
};

/** What a connection has stated about its people no longer counts. Only the active connection of a client states anything. */
const endStated = async (tx: Em, id: number): Promise<void> => {
  await sql`
    update memberships m set claims = null from external_identities i, sso_connections c
    where i.connection_id = ${id} and c.id = i.connection_id and m.client_id = c.client_id and m.user_id = i.user_id
      and m.claims is not null`.execute(kysely(tx));
};

const columnsOf = (input: Omit<ConnectionInput, 'client_secret' | 'default_groups' | 'group_mapping'>) => ({
  name: input.name,
  issuer: input.issuer,
  registeredAs: input.client_id,
  scopes: input.scopes,
  emailClaim: input.email_claim,
  firstNameClaim: input.first_name_claim,
  lastNameClaim: input.last_name_claim,
  groupsClaim: input.groups_claim,
  attributeClaims: input.attribute_claims,
  requiredClaim: input.required_claim,
  requiredValue: input.required_value,
  provisions: input.provisions,
});

/** @throws Problem `invalid-input` on `is_active` */
const requireActivatable = async (tx: Em, connection: SsoConnectionRecord): Promise<void> => {
  if (!connection.testedAt) throw invalid({ is_active: ['Test the connection first.'] });
  const active = await kysely(tx)
    .selectFrom('sso_connections')
    .select('name')
    .where(isOfClient('sso_connections', connection.client?.id ?? null))
    .where('is_active', '=', true)
    .where('id', '<>', connection.id)
    .executeTakeFirst();
  if (active) throw invalid({ is_active: [`Only one connection can be active, and ${active.name} is.`] });
};

type SsoConnectionRecord = InferEntity<typeof SsoConnection>;

/**
 * Call it when the connection becomes required: actors who can then no longer use their password need another way to log in.
 * @throws Problem `invalid-input` on `is_required`
 */
const requireRequirable = async (tx: Em, actor: Actor, { id, isActive, client }: SsoConnectionRecord) => {
  if (!client) throw invalid({ is_required: ['Only clients can require their identity provider.'] });
  if (!isActive) throw invalid({ is_required: ['Activate the connection first.'] });
  if (can(actor, 'administer')) return;
  const own = kysely(tx).selectFrom('external_identities').select('id').where('user_id', '=', actor.id);
  if (!(await own.where('connection_id', '=', id).executeTakeFirst()))
    throw invalid({
      is_required: ['Log in with this connection yourself first. Otherwise you would lock yourself out.'],
    });
};

/** @throws Problem `invalid-input` on the fields with groups that do not belong to the client */
const setGroups = async (
  tx: Em,
  clientId: number | null,
  connectionId: number,
  { default_groups, group_mapping }: Pick<ConnectionChanges, 'default_groups' | 'group_mapping'>,
): Promise<void> => {
  const db = kysely(tx);
  const added = {
    default_groups: default_groups?.map((group) => ({ claim: '', group })) ?? [],
    group_mapping: group_mapping ?? [],
  };
  const ids = Object.values(added).flatMap((groups) => groups.map(({ group }) => group));
  const ofClient = db.selectFrom('groups').select('id').where(condition`client_id = ${clientId}::int`);
  const found = await ofClient
    .where(isAnyOf('id', ids, 'int'))
    .forKeyShare()
    .execute();
  const known = new Set(found.map(({ id }) => id));
  const errors: FieldErrors = {};
  for (const [field, groups] of Object.entries(added)) {
    const unknown = groups.filter(({ group }) => !known.has(group));
    if (unknown.length > 0) errors[field] = unknown.map(({ group }) => `This client has no group ${group}.`);
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
  const replaced = db.deleteFrom('sso_groups').where('connection_id', '=', connectionId);
  if (default_groups) await replaced.where('claim_value', '=', '').execute();
  if (group_mapping) await replaced.where('claim_value', '<>', '').execute();
  const rows = Object.values(added)
    .flat()
    .map(({ claim, group }) => ({ connection_id: connectionId, group_id: group, claim_value: claim }));
  if (rows.length === 0) return;
  await db
    .insertInto('sso_groups')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
};

const connectionRows = (em: Em) =>
  kysely(em)
    .selectFrom('sso_connections as c')
    .select(['c.id', 'c.client_id as client', 'c.name', 'c.issuer', 'c.registered_as as client_id'])
    .select(['c.scopes', 'c.email_claim', 'c.first_name_claim', 'c.last_name_claim', 'c.groups_claim'])
    .select('c.attribute_claims')
    .select(['c.required_claim', 'c.required_value'])
    .select(['c.is_active', 'c.is_required', 'c.provisions', 'c.created_at', 'c.tested_at'])
    .select([
      condition`c.sealed_secret is not null`.as('has_secret'),
      sql<MappedGroup[]>`coalesce((select json_agg(json_build_object('claim', claim_value, 'group', group_id)
        order by claim_value, group_id) from sso_groups g
        where g.connection_id = c.id and g.claim_value <> ''), '[]')`.as('group_mapping'),
      countIn('external_identities', condition`connection_id = c.id`).as('people'),
    ])
    .select((connection) => {
      const groups = connection.selectFrom('sso_groups').select('group_id').where('claim_value', '=', '');
      return arrayOf(groups.whereRef('connection_id', '=', 'c.id').orderBy('group_id')).as('default_groups');
    })
    .orderBy('c.id');

export type ConnectionRow = InferResult<ReturnType<typeof connectionRows>>[number];

/** @throws Problem `not-found` */
export const readConnection = (em: Em, clientId: number | null, id: number): Promise<ConnectionRow> =>
  connectionRows(em)
    .where('c.id', '=', id)
    .where(isOfClient('c', clientId))
    .executeTakeFirstOrThrow(() => notFound('connection'));

/** The page that starts a login. */
export const startUrl = (baseUrl: string, id: number): string => `${baseUrl}/sso/${id}/start/`;

/** The page that leads to the logout at the provider. */
export const logoutUrl = (baseUrl: string, id: number): string => `${baseUrl}/sso/${id}/logout/`;

/** The URLs to enter at a provider. */
export const providerPaths = (baseUrl: string, id: number) => ({
  redirect_uri: callbackUrl(baseUrl, id),
  backchannel_logout_uri: `${baseUrl}/sso/${id}/backchannel-logout/`,
  frontchannel_logout_uri: `${baseUrl}/sso/${id}/frontchannel-logout/`,
  post_logout_redirect_uri: postLogoutUrl(baseUrl),
  initiate_login_uri: startUrl(baseUrl, id),
});

/** The login page, to which a provider redirects the browser after a logout there. It must be registered at the provider. */
export const postLogoutUrl = (baseUrl: string): string => `${baseUrl}/login/`;

/** The URL to which a provider redirects the browser. It must be registered at the provider. */
export const callbackUrl = (baseUrl: string, id: number): string => `${baseUrl}/sso/${id}/callback/`;

/**
 * A connection with its registration at the provider.
 * @param isForTest whether the connection may be inactive
 * @throws SsoFailure
 */
export const openConnection = async (
  { em, connectionSecrets }: Pick<UnitOfWork, 'em' | 'connectionSecrets'>,
  id: number,
  isForTest = false,
) => {
  const row = await connectionRows(em).select('c.sealed_secret').where('c.id', '=', id).executeTakeFirst();
  const isRegistered = row?.issuer !== '' && row?.client_id !== '';
  if (!row || !isRegistered || !(row.is_active || isForTest)) throw new SsoFailure('inactive');
  const { sealed_secret: sealed, ...connection } = row;
  const clientSecret = connectionSecrets.open(id, sealed);
  if (sealed && clientSecret === null) throw new SsoFailure('unreadable-secret');
  const { issuer, client_id: clientId } = connection;
  return { connection, registration: { issuer, clientId, clientSecret } };
};

/** The secrets with which the service logs in to providers. */
export const createConnectionSecrets = (secretKey: string) =>
  createSealedSecrets(secretKey, 'steward single sign-on', 'secret of connection');

/** The number of connections that cannot be used, because their secrets were stored with another secret key. */
export const countUnreadableConnections = async (em: Em, secretKey: string): Promise<number> => {
  const rows = kysely(em).selectFrom('sso_connections').select(['id', 'sealed_secret']);
  return createConnectionSecrets(secretKey).countUnreadable(await rows.execute());
};
