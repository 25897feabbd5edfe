import { LockMode } from '@mikro-orm/postgresql';
import { type InferResult, sql } from 'kysely';
import { Client } from '../../../entities/client.ts';
import { ClientDomain } from '../../../entities/sso.ts';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { normalizeEmail } from '../../lib/email-address.ts';
import { newSecret } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import { invalid, notFound, Problem, roleRequired } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession } from '../access/actor.ts';
import { can, rolesThatMay } from '../access/permissions.ts';
import { type ActionOn, ofDomain } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { lockClient, readClient, readManagedClient } from './clients.ts';
import { connectionsByDomain, domainOf, isProved } from './connection-lookup.ts';

const MAX_DOMAINS = 50;

/** SQL: rows of this table that belong to the client; null: to the installation. */
export const isOfClient = (table: string, clientId: number | null) =>
  condition`${sql.ref(`${table}.client_id`)} is not distinct from ${clientId}::int`;

/** The clients for an entry of the audit trail. Only superusers see entries about the installation. */
export const clientsOf = (clientId: number | null): number[] => (clientId === null ? [] : [clientId]);

/** Whether the actor manages the connections and domains of a client, or of the installation. */
export const managesConnections = (actor: Actor, clientId: number | null): boolean =>
  clientId === null ? can(actor, 'administer') : can(actor, 'configure', clientId);

/** @throws Problem `not-found`, `forbidden`, `reauthentication-required` */
export const requireManager = async (em: Em, actor: Actor, clientId: number | null, now: Date) => {
  if (clientId !== null) await readManagedClient(em, actor, clientId, 'configure');
  else if (!can(actor, 'administer')) throw roleRequired(rolesThatMay('administer'));
  requireConfirmedSession(actor, now);
};

/** Serializes concurrent requests for a client, or for the installation. */
export const lockOwner = async (tx: Em, actor: Actor, clientId: number | null) => {
  if (clientId !== null) await lockClient(tx, actor, clientId);
  else
    await sql`select pg_advisory_xact_lock(hashtextextended('connections of the installation', 0))`.execute(
      kysely(tx),
    );
};

const TAKEN = { domain: ['Another client has verified this domain.'] };

/** Domains of email addresses that a client has proved to own, or that superusers have entered for the connection of the installation. */
export const createDomains = ({ em, clock, audit, readTxtRecords }: UnitOfWork) => {
  const record = (tx: Em, action: ActionOn<'domain'>, actor: Actor, { id, domain, client }: DomainRow) =>
    audit.record(tx, [
      { action, actor, target: ofDomain({ id, domain }), clients: clientsOf(client), details: { id } },
    ]);

  const lock = async (tx: Em, clientId: number | null, id: number) => {
    const lockMode = LockMode.PESSIMISTIC_WRITE;
    const domain = await tx.findOne(ClientDomain, { id, client: clientId }, { lockMode });
    if (!domain) throw notFound('domain');
    return domain;
  };

  /** Sets a domain to verified, unless another client was faster. */
  const prove = async (
    actor: Actor,
    action: 'domain.verify' | 'domain.vouch',
    { id, client, domain }: DomainRow,
    vouchedBy: number | null,
  ): Promise<DomainRow> =>
    em.transactional(async (tx) => {
      const locked = await lock(tx, client, id);
      if (await isTaken(tx, { id, domain })) throw invalid(TAKEN);
      const now = clock.now();
      const verifiedAt = locked.verifiedAt ?? now;
      tx.assign(locked, { verifiedAt, lapsedAt: null, vouchedBy, checkedAt: now });
      await tx.flush();
      const row = await readDomain(tx, client, id);
      await record(tx, action, actor, row);
      return row;
    });

  return {
    /** Whether any address leads to a provider. */
    leadAnywhere: async (): Promise<boolean> =>
      (await connectionsByDomain(em).limit(1).executeTakeFirst()) !== undefined,

    /** The connection to which an address leads. Depends only on the domain, not on whether the address has an account. */
    findConnection: async (email: string): Promise<{ id: number; name: string } | null> => {
      const found = connectionsByDomain(em)
        .where('client_domains.domain', '=', domainOf(normalizeEmail(email.trim())))
        // The proof of an earlier owner may have lapsed, but its row still exists.
        .orderBy(isProved, 'desc')
        .orderBy('client_domains.id');
      return (await found.limit(1).executeTakeFirst()) ?? null;
    },

    /** @throws Problem `not-found` for a client that the actor may not see */
    list: async (actor: Actor, clientId: number | null, page: CursorPageRequest): Promise<DomainRow[]> => {
      if (clientId !== null) await readClient(em, actor, clientId);
      const rows = domainRows(em).where(isOfClient('client_domains', clientId));
      return readPage(afterCursor(rows, 'id', page.cursor), 'id', page);
    },

    /**
     * Adds a domain. For the installation, the superuser vouches for it.
     * @throws Problem `not-found`, `forbidden`, `reauthentication-required`, `invalid-input` on `domain`
     */
    add: (actor: Actor, clientId: number | null, domain: string): Promise<DomainRow> =>
      em.transactional(async (tx) => {
        const now = clock.now();
        await requireManager(tx, actor, clientId, now);
        await lockOwner(tx, actor, clientId);
        if ((await tx.count(ClientDomain, { client: clientId })) >= MAX_DOMAINS)
          throw invalid({ domain: [`A client can have ${MAX_DOMAINS} domains. Remove one first.`] });
        if (clientId === null && (await isTaken(tx, { id: 0, domain }))) throw invalid(TAKEN);
        const added = tx.create(ClientDomain, {
          client: clientId === null ? null : tx.getReference(Client, clientId),
          domain,
          token: newSecret(),
          createdAt: now,
          ...(clientId === null && { verifiedAt: now, vouchedBy: actor.id }),
        });
        await tx.flush();
        const row = await readDomain(tx, clientId, added.id);
        await record(tx, 'domain.add', actor, row);
        return row;
      }),

    /**
     * Looks up the record that proves the domain.
     * @throws the problems of `add`, and Problem `dns-unavailable`
     */
    verify: async (actor: Actor, clientId: number, id: number): Promise<DomainRow> => {
      await requireManager(em, actor, clientId, clock.now());
      const row = await readDomain(em, clientId, id);
      const records = await readTxtRecords(recordName(row)).catch((cause: unknown) => {
        throw new Problem('dns-unavailable', { cause });
      });
      if (!records.includes(recordValue(row))) throw invalid({ domain: [noRecord(row, records)] });
      return prove(actor, 'domain.verify', row, null);
    },

    /**
     * Verifies a domain without a record. For superusers.
     * @throws the problems of `add`
     */
    vouch: async (actor: Actor, clientId: number, id: number): Promise<DomainRow> => {
      await requireManager(em, actor, clientId, clock.now());
      return prove(actor, 'domain.vouch', await readDomain(em, clientId, id), actor.id);
    },

    /** @throws Problem `not-found`, `forbidden`, `reauthentication-required` */
    remove: (actor: Actor, clientId: number | null, id: number): Promise<void> =>
      em.transactional(async (tx) => {
        await requireManager(tx, actor, clientId, clock.now());
        const domain = await lock(tx, clientId, id);
        const row = await readDomain(tx, clientId, id);
        await tx.remove(domain).flush();
        await record(tx, 'domain.remove', actor, row);
      }),
  };
};

export const recordName = ({ domain }: { domain: string }): string => `_steward.${domain}`;
export const recordValue = ({ token }: { token: string }): string => `steward-verification=${token}`;

const noRecord = (proof: DomainRow, found: readonly string[]): string =>
  found.length === 0
    ? `There is no TXT record ${recordName(proof)} yet. New records may take hours to appear.`
    : `The TXT record ${recordName(proof)} has another value.`;

const domainRows = (em: Em) =>
  kysely(em)
    .selectFrom('client_domains')
    .select(['id', 'client_id as client', 'domain', 'token', 'created_at'])
    .select(['verified_at', 'lapsed_at', 'checked_at'])
    .select(sql<string | null>`(select email from users where users.id = vouched_by)`.as('vouched_by'))
    .orderBy('id');

export type DomainRow = InferResult<ReturnType<typeof domainRows>>[number];

/** @throws Problem `not-found` */
const readDomain = (em: Em, clientId: number | null, id: number): Promise<DomainRow> =>
  domainRows(em)
    .where('id', '=', id)
    .where(isOfClient('client_domains', clientId))
    .executeTakeFirstOrThrow(() => notFound('domain'));

/** Whether another row has a valid proof of this domain. */
const isTaken = async (tx: Em, { id, domain }: Pick<DomainRow, 'id' | 'domain'>): Promise<boolean> => {
  const proved = kysely(tx).selectFrom('client_domains').select('id').where('domain', '=', domain);
  return (await proved.where(isProved).where('id', '<>', id).executeTakeFirst()) !== undefined;
};

type RecheckDeps = Pick<UnitOfWork, 'em' | 'audit' | 'readTxtRecords'> & {
  now: Date;
  logger: Pick<Logger, 'warn'>;
};

/**
 * Checks once a day whether the records of verified domains still exist, and whether the records of lapsed ones exist again. A proof lapses
 * only if a name server answers that its record is gone.
 */
export const recheckDomains = async (
  { em, now, audit, readTxtRecords, logger }: RecheckDeps,
  signal: AbortSignal,
): Promise<void> => {
  const due = await kysely(em)
    .selectFrom('client_domains')
    .select(['id', 'client_id', 'domain', 'token', 'lapsed_at'])
    .where('verified_at', 'is not', null)
    .where('vouched_by', 'is', null)
    .where('checked_at', '<=', new Date(now.getTime() - DAY_MS))
    .orderBy('id')
    .execute();
  for (const row of due) {
    signal.throwIfAborted();
    const records = await readTxtRecords(recordName(row)).catch(() => null);
    if (records === null) {
      logger.warn({ domain: row.domain }, 'No name server answered about the proof of a domain');
      continue;
    }
    const isThere = records.includes(recordValue(row));
    await em.transactional(async (tx) => {
      const isVerified = isThere && !(await isTaken(tx, row));
      const lockMode = LockMode.PESSIMISTIC_WRITE;
      const domain = await tx.findOne(ClientDomain, { id: row.id, vouchedBy: null }, { lockMode });
      if (!domain) return;
      const wasLapsed = domain.lapsedAt !== null;
      tx.assign(domain, { checkedAt: now, lapsedAt: isVerified ? null : (domain.lapsedAt ?? now) });
      await tx.flush();
      if (wasLapsed !== isVerified) return;
      const about = {
        actor: null,
        target: ofDomain(row),
        clients: clientsOf(row.client_id),
        details: { id: row.id },
      };
      await audit.record(tx, [{ action: wasLapsed ? 'domain.verify' : 'domain.lapse', ...about }]);
    });
  }
};
