import { createHmac, randomBytes } from 'node:crypto';
import type { InferResult } from 'kysely';
import { clientIdsOf, condition, type Em, kysely } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { DAY_MS, MINUTE_MS } from '../../lib/clock.ts';
import { newNamedToken } from '../../lib/ids.ts';
import { isPartOf } from '../../lib/ip-networks.ts';
import { invalid, notFound, Problem } from '../../lib/problems.ts';
import { type Actor, type Credential, requireConfirmedSession, requirePerson } from '../access/actor.ts';
import { isWithin } from '../access/scope.ts';
import { lockActiveUser, lockOwner, readOwnerId } from '../accounts/user-locks.ts';
import { type Changes, diffColumns, isEmpty, ofOneself, ofUser } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { createAuthentication, inBoth } from './authentication.ts';
import {
  addToken,
  isCurrent,
  isOfScope,
  isTokenUnexpired,
  type TokenLimits,
  tokenDigest,
  UNLIMITED,
} from './credentials.ts';
import { copyUses, narrowedScopes, readUses } from './token-uses.ts';

export const MAX_NAMED_TOKENS = 50;
const KEY_BYTES = 32;
const LOGIN_TOKEN_LENGTH = 40;

/** API tokens, both named ones and tokens from logins: the actor's, and tokens of users whom the actor may change. */
export const createApiTokens = ({ em, clock, audit, tokenIdleDays, tokenUses, ...unit }: UnitOfWork) => ({
  /**
   * Lists the valid tokens of the actor, or of the user with this address, newest first.
   * @throws Problem `not-found`, `forbidden`
   */
  list: async (actor: Actor, page: CursorPageRequest, email?: string): Promise<ApiTokenRow[]> => {
    const rows = tokenRows(em, actor, await readOwnerId(em, actor, email), clock.now(), tokenIdleDays);
    return readPage(afterCursor(rows, 'id', page.cursor, 'desc'), 'id', page);
  },

  /**
   * What a token of the actor was used for, newest first.
   * @throws Problem `not-found`
   */
  uses: async (actor: Actor, id: number) => {
    const now = clock.now();
    await tokenRows(em, actor, actor.id, now, tokenIdleDays)
      .where('id', '=', id)
      .executeTakeFirstOrThrow(() => notFound('token'));
    await tokenUses.flush();
    return readUses(em, id, now);
  },

  /**
   * Creates a named token, for example for a script. Only this response contains its text. Its limits are at least as narrow as the limits of
   * the actor's token.
   * @throws Problem `invalid-input` on `name` and the limits, `reauthentication-required`, `confined-session`, `unauthenticated`
   */
  create: (
    actor: Actor,
    name: string,
    requested: Partial<TokenLimits> = {},
  ): Promise<ApiTokenRow & { token: string }> =>
    em.transactional(async (tx) => {
      requirePerson(actor);
      requireConfirmedSession(actor, clock.now());
      // Concurrent requests count tokens one after another. A deactivation or password change must also revoke the new token.
      if (!(await lockActiveUser(tx, actor.id))) throw new Problem('unauthenticated');
      // Deletes expired tokens, so that their names are free.
      const own = kysely(tx).deleteFrom('api_tokens').where('user_id', '=', actor.id);
      await own.where('last_used', '<=', idleCutoff(clock.now(), tokenIdleDays)).execute();
      const valid = tokenRows(tx, actor, actor.id, clock.now(), tokenIdleDays);
      if ((await valid.where('name', '<>', '').execute()).length >= MAX_NAMED_TOKENS) {
        throw invalid({ name: [`You already have ${MAX_NAMED_TOKENS} named tokens. Revoke one first.`] });
      }
      const token = newNamedToken();
      const now = clock.now();
      const present = { ...(await limitsOf(tx, actor.credential)), client_id: actor.scope.only };
      const limits = narrowest(present, { ...UNLIMITED, ...requested });
      if (limits.expires_at && limits.expires_at <= now)
        throw invalid({ expires_at: ['Must be in the future.'] });
      const client = requested.client_id;
      if (client != null && !(isWithin(actor.scope, client) && (await isMember(tx, actor.id, client))))
        throw invalid({ client: [`You are not an active member of client ${client}.`] });
      const made = { userId: actor.id, token, now, authenticatedAt: null, name };
      const added = { ...made, madeBy: actor.credential, limits };
      const { id } = await addToken(unit, tx, added);
      const clients = await clientIdsOf(tx, actor.id);
      const event = { actor, target: ofUser(actor), clients, details: { id } };
      await audit.record(tx, [{ action: 'token.create', ...event }]);
      const row = await tokenRows(tx, actor, actor.id, now, tokenIdleDays)
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      return { ...row, token };
    }),

  /**
   * Limits a token of the actor as requested, or to the scopes that its uses need.
   * @throws Problem `not-found`, `reauthentication-required`, `invalid-input` on `scopes`, `networks`
   */
  narrow: async (actor: Actor, id: number, requested: Narrowed): Promise<ApiTokenRow> => {
    await tokenUses.flush();
    return em.transactional(async (tx) => {
      const now = clock.now();
      requireConfirmedSession(actor, now);
      const own = tokenRows(tx, actor, actor.id, now, tokenIdleDays).where('id', '=', id);
      const { row, changes } = await narrowToken(tx, own, null, requested, now);
      const about = { actor, target: ofUser(actor), clients: await clientIdsOf(tx, actor.id) };
      if (!isEmpty(changes))
        await audit.record(tx, [{ action: 'token.narrow', ...about, details: { id, ...changes } }]);
      return row;
    });
  },

  /**
   * Revokes a token of the actor, or of the user with this address.
   * @throws Problem `not-found`, `forbidden`
   */
  revoke: (actor: Actor, id: number, email?: string): Promise<void> =>
    em.transactional(async (tx) => {
      const owner = await lockOwner(tx, actor, email);
      await kysely(tx)
        .deleteFrom('api_tokens')
        .where('user_id', '=', owner.id)
        .where('id', '=', id)
        .where(isOfScope(actor, 'token'))
        .returning('id')
        .executeTakeFirstOrThrow(() => notFound('token'));
      // Otherwise, a token that the revoked one has replaced would stay valid for the rest of its minute.
      const replaced = kysely(tx).deleteFrom('api_tokens').where('user_id', '=', owner.id);
      await replaced.where('replacement', 'is not', null).execute();
      const about = { actor, target: ofUser(owner), clients: owner.clientIds };
      await audit.record(tx, [{ action: 'token.revoke', ...about, details: { id } }]);
    }),
});

/** Limits that a token gets. Without any, it gets the scopes that its uses need. */
export type Narrowed = { scopes?: string[] | undefined; networks?: string[] | undefined };

/**
 * Limits a token, and returns it with what has changed.
 * @param within scopes that limit all tokens of its owner; null: all
 * @throws Problem `not-found`, `invalid-input` on `scopes`, `networks`
 */
export const narrowToken = async (
  tx: Em,
  rows: ReturnType<typeof tokenRows>,
  within: readonly string[] | null,
  requested: Narrowed,
  now: Date,
): Promise<{ row: ApiTokenRow; changes: Changes }> => {
  const before = await rows.forNoKeyUpdate().executeTakeFirstOrThrow(() => notFound('token'));
  const token = { id: before.id, held: inBoth(before.scopes, within), now };
  const { networks = before.networks } = requested;
  const wider = networks?.filter((network) => before.networks && !isPartOf(network, before.networks)) ?? [];
  if (wider.length > 0) throw invalid({ networks: [`The token is not accepted from ${wider.join(', ')}.`] });
  const scopes =
    requested.networks && !requested.scopes
      ? before.scopes
      : await narrowedScopes(tx, token, requested.scopes);
  await kysely(tx).updateTable('api_tokens').set({ scopes, networks }).where('id', '=', before.id).execute();
  const row = { ...before, scopes, networks };
  return { row, changes: diffColumns(before, row, ['scopes', 'networks']) };
};

/** The limits of the token of a request. */
export const limitsOf = async (tx: Em, credential: Credential | null): Promise<TokenLimits> => {
  if (credential?.kind !== 'token') return UNLIMITED;
  return kysely(tx)
    .selectFrom('api_tokens')
    .select(['client_id', 'scopes', 'networks', 'expires_at'])
    .where('id', '=', credential.id)
    .executeTakeFirstOrThrow(() => new Problem('unauthenticated'));
};

/**
 * The requested limits, or where none are requested, the limits of the token of the request.
 * @throws Problem `invalid-input` on limits that are wider
 */
export const narrowest = (own: TokenLimits, requested: TokenLimits): TokenLimits => {
  const wider = requested.scopes?.filter((scope) => own.scopes?.includes(scope) === false) ?? [];
  if (wider.length > 0) throw invalid({ scopes: [`Your token does not have ${wider.join(', ')}.`] });
  if (own.client_id !== null && requested.client_id !== null && requested.client_id !== own.client_id)
    throw invalid({ client: [`Your token is confined to client ${own.client_id}.`] });
  if (own.networks && requested.networks && String(own.networks) !== String(requested.networks))
    throw invalid({ networks: ['Your token is limited to networks: the new one gets the same.'] });
  if (own.expires_at && requested.expires_at && requested.expires_at > own.expires_at)
    throw invalid({
      expires_at: [`Must not be after the end of your token, ${own.expires_at.toISOString()}.`],
    });
  return {
    client_id: requested.client_id ?? own.client_id,
    scopes: requested.scopes ?? own.scopes,
    networks: requested.networks ?? own.networks,
    expires_at: requested.expires_at ?? own.expires_at,
  };
};

const isMember = async (tx: Em, userId: number, clientId: number): Promise<boolean> => {
  const memberships = kysely(tx).selectFrom('memberships').select('user_id').where('user_id', '=', userId);
  const active = memberships.where('client_id', '=', clientId).where('is_active_member', '=', true);
  return (await active.executeTakeFirst()) !== undefined;
};

/** Tokens last used before this time have expired. */
const idleCutoff = (now: Date, idleDays: number): Date =>
  idleDays === 0 ? new Date(0) : new Date(now.getTime() - idleDays * DAY_MS);

export const tokenRows = (em: Em, actor: Actor, userId: number, now: Date, idleDays: number) =>
  kysely(em)
    .selectFrom('api_tokens')
    .select(['id', 'name', 'created_at', 'last_used', 'last_address', isCurrent(actor, 'token')])
    .select(['client_id as client', 'scopes', 'networks', 'expires_at'])
    .where('user_id', '=', userId)
    .where(isOfScope(actor, 'token'))
    .where('last_used', '>', idleCutoff(now, idleDays))
    .where(isTokenUnexpired(now))
    .orderBy('id', 'desc');

export type ApiTokenRow = InferResult<ReturnType<typeof tokenRows>>[number];

/** Checks tokens, and exchanges them for new ones. Callers are anonymous: knowing the token is their proof. */
export const createTokenRefresh = (unit: UnitOfWork) => {
  const { em, clock, audit } = unit;

  const replace = async (tx: Em, { id, user_id: userId, name, email, ...row }: TokenRow, token: string) => {
    const { client_id, scopes, networks, expires_at } = row;
    const limits = { client_id, scopes, networks, expires_at };
    const key = randomBytes(KEY_BYTES);
    const replacement = replacementOf(token, key);
    const db = kysely(tx);
    // The old token stays valid for requests that are already being sent with it.
    const inAMinute = new Date(clock.now().getTime() + MINUTE_MS);
    const ending = { name: '', expires_at: expires_at && expires_at < inAMinute ? expires_at : inAMinute };
    await db
      .updateTable('api_tokens')
      .set({ ...ending, replacement: key })
      .where('id', '=', id)
      .execute();
    const isOver = condition`not ${isTokenUnexpired(clock.now())}`;
    await db.deleteFrom('api_tokens').where('user_id', '=', userId).where(isOver).execute();
    const authenticatedAt = row.authenticated_at;
    const madeBy = { kind: 'token', id, authenticatedAt } as const;
    const made = { userId, token: replacement, now: clock.now(), authenticatedAt, name };
    const added = { ...made, madeBy, limits };
    const { id: newId } = await addToken(unit, tx, added);
    await copyUses(tx, id, newId);
    const about = ofOneself({ id: userId, email, clientIds: await clientIdsOf(tx, userId) });
    await audit.record(tx, [{ action: 'token.refresh', ...about, details: { id, new_id: newId } }]);
    return replacement;
  };

  return {
    /**
     * Returns a valid token.
     * @throws Problem `invalid-token`
     */
    verify: async (token: string): Promise<string> => {
      if (await createAuthentication(unit).isValidToken(token)) return token;
      throw new Problem('invalid-token');
    },

    /**
     * Returns a new token with the name of the old one. The old token ends a minute later. Until then, it is exchanged for the same new
     * token: concurrent refreshes of one token agree, and a lost response can be requested again.
     * @throws Problem `invalid-token`
     */
    refresh: async (token: string): Promise<string> => {
      if (!(await createAuthentication(unit).isValidToken(token))) throw new Problem('invalid-token');
      return em.transactional(async (tx) => {
        const row = await lockToken(tx, token, clock.now());
        if (!row) throw new Problem('invalid-token');
        if (row.replacement === null) return replace(tx, row, token);
        const replacement = replacementOf(token, row.replacement);
        // It may have been revoked, or refreshed more than a minute ago.
        if (!(await lockToken(tx, replacement, clock.now()))) throw new Problem('invalid-token');
        return replacement;
      });
    },
  };
};

/**
 * Locks the owner first: a concurrent deactivation or password change must also revoke the new token. Then locks the token, which may be
 * revoked or refreshed concurrently.
 */
const lockToken = async (tx: Em, token: string, now: Date) => {
  const tokens = kysely(tx)
    .selectFrom('api_tokens')
    .innerJoin('users', 'users.id', 'api_tokens.user_id')
    .select(['api_tokens.id', 'api_tokens.user_id', 'api_tokens.name', 'users.email'])
    .select(['api_tokens.replacement', 'api_tokens.authenticated_at', 'api_tokens.client_id'])
    .select(['api_tokens.scopes', 'api_tokens.networks', 'api_tokens.expires_at'])
    .where('digest', '=', tokenDigest(token))
    .where(isTokenUnexpired(now));
  const found = await tokens.executeTakeFirst();
  if (!found || !(await lockActiveUser(tx, found.user_id))) return undefined;
  return tokens.forUpdate('api_tokens').executeTakeFirst();
};

type TokenRow = NonNullable<Awaited<ReturnType<typeof lockToken>>>;

/** The token that replaces another one, in the form of a login's token. The database has neither, so that reading it reveals none. */
const replacementOf = (token: string, key: Uint8Array): string =>
  createHmac('sha256', key).update(token).digest('hex').slice(0, LOGIN_TOKEN_LENGTH);
