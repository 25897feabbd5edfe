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
import { invalid, notFound, Problem } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession } from '../access/actor.ts';
import type { ActionOn } from '../audit/audit.ts';
import { lockClient, readClient, readManagedClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

const MAX_DOMAINS = 50;

/** SQL: whether a row of `client_domains` is proved now. */
export const isProved = condition`(client_domains.verified_at is not null and client_domains.lapsed_at is null)`;

/** SQL: whether a row of `users` has logged in with the present provider. Others need their password once, to connect the account. */
export const IS_CONNECTED = condition`exists (select from external_identities i
  join sso_connections c on c.id = i.connection_id and c.issuer = i.issuer where i.user_id = users.id)`;

/**
 * SQL: whether a row of `users` must not use a password, because their client requires its connection for their domain. Not those whom
 * no connection logs in: people who belong to several clients or have left one, superusers and staff. After a proof has lapsed, only those who can still log in with
 * the connection.
 */
export const REQUIRES_SSO = condition`(not (users.is_superuser or users.is_staff) and exists (
  select from memberships m
    join sso_connections c on c.client_id = m.client_id and c.is_active and c.is_required
    join client_domains d on d.client_id = m.client_id and d.verified_at is not null
  where m.user_id = users.id and m.is_active_member and users.shared_since is null
    and not exists (select from memberships o where o.user_id = users.id and o.client_id <> m.client_id)
    and d.domain = ${sql`split_part(users.email, '@', 2)`}
    and (d.lapsed_at is null or exists (
      select from external_identities i where i.user_id = users.id and i.connection_id = c.id and i.issuer = c.issuer))))`;

/** The part of a normalized email address after the `@`; empty of other texts. */
export const domainOf = (email: string): string => /@([^@]*)$/.exec(email)?.[1] ?? '';

const TAKEN = { domain: ['Another client has verified this domain.'] };

/** Domains of email addresses that a client has proved to own. */
export const createDomains = ({ em, clock, audit, readTxtRecords }: UnitOfWork) => {
  const record = (tx: Em, action: ActionOn<'domain'>, actor: Actor, { id, domain, client }: DomainRow) =>
    audit.record(tx, [
      { action, actor, target: { type: 'domain', id, label: domain }, clients: [client], details: { id } },
    ]);

  const requireManager = async (tx: Em, actor: Actor, clientId: number): Promise<void> => {
    await readManagedClient(tx, actor, clientId);
    requireConfirmedSession(actor, clock.now());
  };

  const lock = async (tx: Em, clientId: number, id: number) => {
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
    vouchedBy: string | null,
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
    /** Whether some address leads to a provider. */
    leadAnywhere: async (): Promise<boolean> =>
      (await connectionsByDomain(em).limit(1).executeTakeFirst()) !== undefined,

    /** The connection to which an address leads, by its domain alone: whether it has an account makes no difference. */
    findConnection: async (email: string): Promise<{ id: number; name: string } | null> => {
      const found = connectionsByDomain(em)
        .where('client_domains.domain', '=', domainOf(normalizeEmail(email.trim())))
        // That of an earlier owner may have lapsed.
        .orderBy(isProved, 'desc')
        .orderBy('client_domains.id');
      return (await found.limit(1).executeTakeFirst()) ?? null;
    },

    /** @throws Problem `not-found` for a client that the actor may not see */
    list: async (actor: Actor, clientId: number, page: CursorPageRequest): Promise<DomainRow[]> => {
      await readClient(em, actor, clientId);
      const rows = domainRows(em).where('client_id', '=', clientId);
      return readPage(afterCursor(rows, 'id', page.cursor), 'id', page);
    },

    /** @throws Problem `not-found`, `forbidden`, `reauthentication-required`, `invalid-input` on `domain` */
    add: (actor: Actor, clientId: number, domain: string): Promise<DomainRow> =>
      em.transactional(async (tx) => {
        await requireManager(tx, actor, clientId);
        // Concurrent requests count one after another.
        await lockClient(tx, actor, clientId);
        if ((await tx.count(ClientDomain, { client: clientId })) >= MAX_DOMAINS)
          throw invalid({ domain: [`A client can have ${MAX_DOMAINS} domains. Remove one first.`] });
        const client = tx.getReference(Client, clientId);
        const token = newSecret();
        const added = tx.create(ClientDomain, { client, domain, token, createdAt: clock.now() });
        await tx.flush();
        const row = await readDomain(tx, clientId, added.id);
        await record(tx, 'domain.add', actor, row);
        return row;
      }),

    /**
     * Looks for the record that proves the domain.
     * @throws Problem as `add`, `dns-unavailable`
     */
    verify: async (actor: Actor, clientId: number, id: number): Promise<DomainRow> => {
      await requireManager(em, actor, clientId);
      const row = await readDomain(em, clientId, id);
      const records = await readTxtRecords(recordName(row)).catch((cause: unknown) => {
        throw new Problem('dns-unavailable', { cause });
      });
      if (!records.includes(recordValue(row))) throw invalid({ domain: [noRecord(row, records)] });
      return prove(actor, 'domain.verify', row, null);
    },

    /**
     * Verifies a domain without a record. For superusers.
     * @throws Problem as `add`
     */
    vouch: async (actor: Actor, clientId: number, id: number): Promise<DomainRow> => {
      await requireManager(em, actor, clientId);
      return prove(actor, 'domain.vouch', await readDomain(em, clientId, id), actor.email);
    },

    /** @throws Problem `not-found`, `forbidden`, `reauthentication-required` */
    remove: (actor: Actor, clientId: number, id: number): Promise<void> =>
      em.transactional(async (tx) => {
        await requireManager(tx, actor, clientId);
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
    .select(['verified_at', 'lapsed_at', 'vouched_by', 'checked_at'])
    .orderBy('id');

export type DomainRow = InferResult<ReturnType<typeof domainRows>>[number];

/** @throws Problem `not-found` */
const readDomain = (em: Em, clientId: number, id: number): Promise<DomainRow> =>
  domainRows(em)
    .where('id', '=', id)
    .where('client_id', '=', clientId)
    .executeTakeFirstOrThrow(() => notFound('domain'));

/** Whether another row has a proof of this domain. */
const isTaken = async (tx: Em, { id, domain }: Pick<DomainRow, 'id' | 'domain'>): Promise<boolean> => {
  const proved = kysely(tx).selectFrom('client_domains').select('id').where('domain', '=', domain);
  return (await proved.where(isProved).where('id', '<>', id).executeTakeFirst()) !== undefined;
};

/** Active connections, by the domains of their clients. */
const connectionsByDomain = (em: Em) =>
  kysely(em)
    .selectFrom('client_domains')
    .innerJoin('sso_connections as c', 'c.client_id', 'client_domains.client_id')
    .select(['c.id', 'c.name'])
    .where('c.is_active', '=', true)
    .where('client_domains.verified_at', 'is not', null)
    // A lapsed proof counts as long as no other client has one.
    .where(
      condition`(${isProved} or not exists (select from client_domains other where other.domain = client_domains.domain
        and other.verified_at is not null and other.lapsed_at is null))`,
    );

type RecheckDeps = Pick<UnitOfWork, 'em' | 'audit' | 'readTxtRecords'> & {
  now: Date;
  logger: Pick<Logger, 'warn'>;
};

/**
 * Looks once a day whether the records of verified domains are still there, and whether those of lapsed ones are there again. A proof lapses
 * only if a name server says that its record is gone.
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
        target: { type: 'domain', id: row.id, label: row.domain } as const,
        clients: [row.client_id],
        details: { id: row.id },
      };
      await audit.record(tx, [{ action: wasLapsed ? 'domain.verify' : 'domain.lapse', ...about }]);
    });
  }
};
