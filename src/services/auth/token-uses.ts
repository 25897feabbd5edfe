import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import { type Clock, DAY_MS, HOUR_MS } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { invalid } from '../../lib/problems.ts';
import { type ActionScope, SCOPES } from '../access/action-scopes.ts';
import type { Actor } from '../access/actor.ts';

/** How long uses are kept. */
export const TOKEN_USE_DAYS = 90;

const WRITE_DELAY_MS = 1_000;
/** Bounds the memory of an instance: each takes about 100 bytes. */
const MAX_KNOWN = 50_000;

type Use = { token_id: number; procedure: string; scopes: readonly ActionScope[]; last_used_at: Date };

type Deps = { fork: () => Em; clock: Clock; logger: Pick<Logger, 'warn'> };

export type TokenUses = ReturnType<typeof createTokenUses>;

/**
 * Records what tokens are used for: once an hour for each token and procedure, outside of the transactions of requests, with all uses of the
 * same second in one statement. A crash loses the uses of that second.
 */
export const createTokenUses = ({ fork, clock, logger }: Deps) => {
  let hour = 0;
  /** The uses of this hour that are written or waiting. */
  const known = new Set<string>();
  let waiting: Use[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const write = async (uses: readonly Use[]): Promise<void> => {
    const written = await upsert(fork(), uses).catch((error: unknown) => {
      logger.warn({ err: error }, 'cannot record what tokens are used for');
      return [];
    });
    const kept = new Set(written.map(keyOf));
    // They are recorded at their next use.
    for (const use of uses) if (!kept.has(keyOf(use))) known.delete(keyOf(use));
  };

  /** Writes the uses that wait. Never throws. */
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const uses = waiting;
    waiting = [];
    if (uses.length > 0) writing = writing.then(() => write(uses));
    return writing;
  };

  return {
    flush,

    /**
     * Records that the token of the actor, if any, was used for a procedure, or for a path that has none.
     * @param scopes what a token needs for it
     */
    record: ({ credential }: Actor, procedure: string, scopes: readonly ActionScope[]): void => {
      if (credential?.kind !== 'token') return;
      const now = clock.now();
      const current = Math.floor(now.getTime() / HOUR_MS);
      if (current !== hour || known.size >= MAX_KNOWN) {
        // Also so that a statement contains each use once.
        void flush();
        known.clear();
        hour = current;
      }
      const use = { token_id: credential.id, procedure, scopes, last_used_at: now };
      const key = keyOf(use);
      if (known.has(key)) return;
      known.add(key);
      waiting.push(use);
      timer ??= setTimeout(flush, WRITE_DELAY_MS).unref();
    },
  };
};

const keyOf = ({ token_id, procedure }: Pick<Use, 'token_id' | 'procedure'>): string =>
  `${token_id} ${procedure}`;

/** Skips tokens that are being changed or were deleted, so that it neither waits nor fails. Returns what was written. */
const upsert = async (em: Em, uses: readonly Use[]) => {
  const { rows } = await sql<Pick<Use, 'token_id' | 'procedure'>>`
    insert into token_uses (token_id, procedure, scopes, last_used_at)
    select used.* from json_to_recordset(${JSON.stringify(uses)}::json)
        as used (token_id bigint, procedure varchar, scopes text[], last_used_at timestamptz)
      join api_tokens on api_tokens.id = used.token_id
    order by used.token_id, used.procedure
    for key share of api_tokens skip locked
    on conflict (token_id, procedure) do update set scopes = excluded.scopes,
      last_used_at = greatest(token_uses.last_used_at, excluded.last_used_at)
    returning token_id, procedure`.execute(kysely(em));
  return rows;
};

/** The token that replaces another one has been used for the same. */
export const copyUses = (tx: Em, fromId: number, toId: number) =>
  sql`insert into token_uses (token_id, procedure, scopes, last_used_at)
    select ${toId}, procedure, scopes, last_used_at from token_uses where token_id = ${fromId}`.execute(
    kysely(tx),
  );

/** What a token was used for, newest first: a row for each scope that a procedure needs. */
export const readUses = (em: Em, tokenId: number, now: Date) =>
  kysely(em)
    .selectFrom('token_uses')
    .select(['procedure', sql<string>`unnest(scopes)`.as('scope'), 'last_used_at'])
    .where('token_id', '=', tokenId)
    .where('last_used_at', '>', new Date(now.getTime() - TOKEN_USE_DAYS * DAY_MS))
    .orderBy('last_used_at', 'desc')
    .orderBy('procedure')
    .execute();

/**
 * The scopes to which a token is narrowed: the requested ones, or those that its uses need.
 * @param held what it may do; null: all
 * @throws Problem `invalid-input` on `scopes` that it does not have, or if it was used for nothing
 */
export const narrowedScopes = async (
  em: Em,
  { id, held, now }: { id: number; held: readonly string[] | null; now: Date },
  requested: string[] | undefined,
): Promise<string[]> => {
  const wider = requested?.filter((scope) => held?.includes(scope) === false) ?? [];
  if (wider.length > 0) throw invalid({ scopes: [`The token does not have ${wider.join(', ')}.`] });
  if (requested) return requested;
  const used = new Set((await readUses(em, id, now)).map(({ scope }) => scope));
  const needed = SCOPES.filter((scope) => used.has(scope) && held?.includes(scope) !== false);
  if (needed.length === 0) throw invalid({ scopes: [UNUSED] });
  return needed;
};

const UNUSED = `The token used none of its rights in the last ${TOKEN_USE_DAYS} days. Revoke it, or name the scopes that it needs.`;
