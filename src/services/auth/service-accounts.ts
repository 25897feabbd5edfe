import { type InferResult, sql } from 'kysely';
import { Client } from '../../../entities/client.ts';
import { ServiceAccount } from '../../../entities/credentials.ts';
import { User } from '../../../entities/user.ts';
import { condition, type Em, kysely, pickDefined } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { SERVICE_DOMAIN } from '../../lib/email-address.ts';
import { newNamedToken } from '../../lib/ids.ts';
import { invalid, notFound, roleRequired } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession } from '../access/actor.ts';
import { lockAccessChange } from '../access/locks.ts';
import {
  CLIENT_ROLES,
  can,
  canAllOf,
  GLOBAL_ROLES,
  namedRoles,
  rolesThatMay,
} from '../access/permissions.ts';
import { isAllowedIn } from '../access/visibility.ts';
import { profileColorOf } from '../accounts/new-accounts.ts';
import { type ActionOn, diffColumns, isEmpty, ofServiceAccount } from '../audit/audit.ts';
import { readManagedClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import {
  type ApiTokenRow,
  limitsOf,
  MAX_NAMED_TOKENS,
  type Narrowed,
  narrowest,
  narrowToken,
  tokenRows,
} from './api-tokens.ts';
import { addToken, type TokenLimits, UNLIMITED } from './credentials.ts';
import { readUses } from './token-uses.ts';

const MAX_SLUG_LENGTH = 60;

type NewAccount = {
  name: string;
  description: string;
  /** Null: the installation. */
  client: number | null;
  roles: string[];
  scopes: string[] | null;
};
type Changes = { [Name in Exclude<keyof NewAccount, 'client'>]?: NewAccount[Name] | undefined } & {
  is_active?: boolean | undefined;
};
type NewToken = Partial<Omit<TokenLimits, 'client_id'>> & { name: string };

/**
 * Accounts of programs: of a client, managed by its admins, or of the installation, managed by superusers. They act by tokens, with roles
 * and scopes that their makers have themselves.
 */
export const createServiceAccounts = ({
  em,
  clock,
  audit,
  tokenIdleDays,
  tokenUses,
  ...unit
}: UnitOfWork) => {
  const record = (tx: Em, action: ActionOn<'service-account'>, actor: Actor, row: Row, details = {}) => {
    const clients = row.client === null ? [] : [row.client];
    const about = { actor, target: ofServiceAccount(row), clients };
    return audit.record(tx, [{ action, ...about, details: { id: row.id, ...details } }]);
  };

  const find = (tx: Em, actor: Actor, id: number): Promise<Row> =>
    accountRows(tx, actor)
      .where('s.user_id', '=', id)
      .executeTakeFirstOrThrow(() => notFound('service account'));

  /** Every change begins with it, so that it checks what no other change replaces before the commit. */
  const findLocked = (tx: Em, actor: Actor, id: number): Promise<Row> =>
    accountRows(tx, actor)
      .where('s.user_id', '=', id)
      .forUpdate('s')
      .executeTakeFirstOrThrow(() => notFound('service account'));

  return {
    /** The accounts of clients that the actor manages; superusers also see those of the installation. */
    list: (actor: Actor, client: number | undefined, page: CursorPageRequest): Promise<Row[]> => {
      const rows = accountRows(em, actor).where(
        client === undefined ? condition`true` : condition`s.client_id = ${client}`,
      );
      return readPage(afterCursor(rows, 's.user_id', page.cursor), 's.user_id', page);
    },

    /** @throws Problem `not-found` */
    get: (actor: Actor, id: number): Promise<Row> => find(em, actor, id),

    /** @throws Problem `not-found`, `forbidden`, `reauthentication-required`, `invalid-input` on `name`, `roles`, `scopes` */
    create: (actor: Actor, { client, name, description, roles, scopes }: NewAccount): Promise<Row> =>
      em.transactional(async (tx) => {
        const now = clock.now();
        requireConfirmedSession(actor, now);
        if (client !== null) await readManagedClient(tx, actor, client, 'configure');
        else if (!can(actor, 'administer')) throw roleRequired(rolesThatMay('administer'));
        requireGivable(actor, client, { roles, scopes });
        const { id, email } = await newIdentity(tx, name);
        const label = { handle: email.slice(0, email.indexOf('@')), firstName: name };
        const times = { dateJoined: now, lastPasswordSet: now };
        const user = tx.create(User, {
          id,
          email,
          ...label,
          ...times,
          isActive: false,
          profileColor: profileColorOf(email),
        });
        tx.create(ServiceAccount, {
          user,
          client: client === null ? null : tx.getReference(Client, client),
          ...{ name, description, roles, scopes },
          createdAt: now,
          createdBy: actor.id,
        });
        await tx.flush();
        const row = await find(tx, actor, user.id);
        await record(tx, 'service-account.create', actor, row);
        return row;
      }),

    /**
     * Takes effect with the next request of each token.
     * @throws the problems of `create`
     */
    update: (actor: Actor, id: number, changes: Changes): Promise<Row> =>
      em.transactional(async (tx) => {
        requireConfirmedSession(actor, clock.now());
        const before = await findLocked(tx, actor, id);
        // No one widens an account beyond themselves, nor changes one that exceeds them.
        requireGivable(actor, before.client, before);
        const set = pickDefined(changes);
        if (set === null) return before;
        requireGivable(actor, before.client, { ...before, ...set });
        const { name } = set;
        await kysely(tx).updateTable('service_accounts').set(set).where('user_id', '=', id).execute();
        if (name !== undefined)
          await kysely(tx).updateTable('users').set({ first_name: name }).where('id', '=', id).execute();
        const row = await find(tx, actor, id);
        await lockAccessChange(tx, id, actor);
        const details = diffColumns(before, row, ['name', 'description', 'roles', 'scopes', 'is_active']);
        await record(tx, 'service-account.update', actor, row, details);
        return row;
      }),

    /**
     * Ends its tokens. Records keep its name.
     * @throws Problem `not-found`, `reauthentication-required`
     */
    remove: (actor: Actor, id: number): Promise<void> =>
      em.transactional(async (tx) => {
        requireConfirmedSession(actor, clock.now());
        const row = await findLocked(tx, actor, id);
        await kysely(tx).deleteFrom('api_tokens').where('user_id', '=', id).execute();
        await kysely(tx).deleteFrom('service_accounts').where('user_id', '=', id).execute();
        await lockAccessChange(tx, id, actor);
        await record(tx, 'service-account.remove', actor, row);
      }),

    /** @throws Problem `not-found` */
    listTokens: async (actor: Actor, id: number, page: CursorPageRequest): Promise<ApiTokenRow[]> => {
      await find(em, actor, id);
      const rows = tokenRows(em, actor, id, clock.now(), tokenIdleDays);
      return readPage(afterCursor(rows, 'id', page.cursor, 'desc'), 'id', page);
    },

    /**
     * What a token was used for, newest first.
     * @throws Problem `not-found`
     */
    tokenUses: async (actor: Actor, id: number, tokenId: number) => {
      const now = clock.now();
      await find(em, actor, id);
      await tokenRows(em, actor, id, now, tokenIdleDays)
        .where('id', '=', tokenId)
        .executeTakeFirstOrThrow(() => notFound('token'));
      await tokenUses.flush();
      return readUses(em, tokenId, now);
    },

    /**
     * Only this response contains the token.
     * @throws Problem `not-found`, `reauthentication-required`, `invalid-input` on `name` and the limits
     */
    createToken: (
      actor: Actor,
      id: number,
      { name, ...requested }: NewToken,
    ): Promise<ApiTokenRow & { token: string }> =>
      em.transactional(async (tx) => {
        const now = clock.now();
        requireConfirmedSession(actor, now);
        const row = await findLocked(tx, actor, id);
        requireGivable(actor, row.client, row);
        const existing = await tokenRows(tx, actor, id, now, tokenIdleDays).execute();
        if (existing.length >= MAX_NAMED_TOKENS)
          throw invalid({ name: [`It already has ${MAX_NAMED_TOKENS} tokens. Revoke one first.`] });
        const asked = { ...UNLIMITED, ...requested, client_id: row.client };
        const limits = narrowest({ ...(await limitsOf(tx, actor.credential)), client_id: null }, asked);
        const wider = limits.scopes?.filter((scope) => row.scopes?.includes(scope) === false) ?? [];
        if (wider.length > 0) throw invalid({ scopes: [`The account does not have ${wider.join(', ')}.`] });
        if (limits.expires_at && limits.expires_at <= now)
          throw invalid({ expires_at: ['Must be in the future.'] });
        const token = newNamedToken();
        const added = await addToken(unit, tx, {
          userId: id,
          token,
          now,
          authenticatedAt: null,
          name,
          limits,
          createdBy: actor.id,
        });
        await record(tx, 'service-account.create-token', actor, row);
        const made = tokenRows(tx, actor, id, now, tokenIdleDays).where('id', '=', added.id);
        return { ...(await made.executeTakeFirstOrThrow()), token };
      }),

    /**
     * Limits a token to the requested scopes, or to those that its uses need.
     * @throws Problem `not-found`, `reauthentication-required`, `invalid-input` on `scopes`
     */
    narrowToken: async (
      actor: Actor,
      id: number,
      tokenId: number,
      requested: Narrowed,
    ): Promise<ApiTokenRow> => {
      await tokenUses.flush();
      return em.transactional(async (tx) => {
        const now = clock.now();
        requireConfirmedSession(actor, now);
        const account = await findLocked(tx, actor, id);
        const tokens = tokenRows(tx, actor, id, now, tokenIdleDays).where('id', '=', tokenId);
        const { row, changes } = await narrowToken(tx, tokens, account.scopes, requested, now);
        await lockAccessChange(tx, id, actor);
        const details = { token: tokenId, ...changes };
        if (!isEmpty(changes)) await record(tx, 'service-account.narrow-token', actor, account, details);
        return row;
      });
    },

    /** @throws Problem `not-found` */
    revokeToken: (actor: Actor, id: number, tokenId: number): Promise<void> =>
      em.transactional(async (tx) => {
        const row = await find(tx, actor, id);
        await kysely(tx)
          .deleteFrom('api_tokens')
          .where('user_id', '=', id)
          .where('id', '=', tokenId)
          .returning('id')
          .executeTakeFirstOrThrow(() => notFound('token'));
        await lockAccessChange(tx, id, actor);
        await record(tx, 'service-account.revoke-token', actor, row);
      }),
  };
};

/** The names of the roles that an account of a client, or of the installation, can have. */
const rolesFor = (client: number | null): string[] =>
  (client === null ? GLOBAL_ROLES : CLIENT_ROLES).map(({ name }) => name);

/**
 * No one gives roles or scopes that they do not have.
 * @throws Problem `invalid-input` on `roles`, `scopes`
 */
const requireGivable = (
  actor: Actor,
  client: number | null,
  { roles, scopes }: { roles: readonly string[]; scopes: readonly string[] | null },
): void => {
  const unknown = roles.filter((role) => !rolesFor(client).includes(role));
  if (unknown.length > 0)
    throw invalid({ roles: [`Must be among ${rolesFor(client).join(', ')}, not ${unknown.join(', ')}.`] });
  if (!canAllOf(actor, namedRoles(roles, client))) throw invalid({ roles: ['You do not have these roles.'] });
  const { actions } = actor.scope;
  if (actions === null) return;
  const wider = scopes?.filter((scope) => !actions.includes(scope));
  if (wider === undefined || wider.length > 0)
    throw invalid({ scopes: [`Your token has only the scopes ${actions.join(', ')}.`] });
};

/** The id of the account, and the address that names it in records, which the id makes unique. */
const newIdentity = async (tx: Em, name: string): Promise<{ id: number; email: string }> => {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, MAX_SLUG_LENGTH);
  const { rows } = await sql<{ id: number }>`select nextval('users_id_seq')::int as id`.execute(kysely(tx));
  const id = rows[0]?.id ?? 0; // a sequence has one row
  return { id, email: `${slug || 'service'}-${id}@${SERVICE_DOMAIN}` };
};

const accountRows = (em: Em, actor: Actor) =>
  kysely(em)
    .selectFrom('service_accounts as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .leftJoin('users as maker', 'maker.id', 's.created_by')
    .select(['s.user_id as id', 's.client_id as client', 's.name', 's.description', 's.roles', 's.scopes'])
    .select(['s.is_active', 's.created_at', 'u.email as address', 'maker.email as created_by'])
    .select(
      sql<Date | null>`(select max(t.last_used) from api_tokens t where t.user_id = s.user_id)`.as(
        'last_used',
      ),
    )
    .where(
      can(actor, 'administer')
        ? condition`true`
        : condition`(s.client_id is not null and ${isAllowedIn(sql`s.client_id`, actor, 'configure')})`,
    )
    .orderBy('s.user_id');

type Row = InferResult<ReturnType<typeof accountRows>>[number];
