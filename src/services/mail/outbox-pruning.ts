import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { failObsolete } from './delivery-results.ts';
import { mailRows } from './mail-context.ts';

const RETENTION_DAYS = 30;
/** Rows per statement: small enough not to hold locks for long. */
const BATCH = 1_000;

type Terms = { now: Date; invitationDays: number };

/** Deletes mails that were sent or failed 30 days ago, and expired links. */
export const pruneOutbox = async (em: SqlEntityManager, now: Date): Promise<void> => {
  const before = new Date(now.getTime() - RETENTION_DAYS * DAY_MS);
  await repeatWhileFull(() =>
    sql`
      delete from outbox_mails where id in (
        select id from outbox_mails where coalesce(sent_at, failed_at) < ${before}::timestamptz
        order by id limit ${BATCH} for update skip locked)`.execute(tables(em)),
  );
  await repeatWhileFull(() =>
    sql`
      delete from password_links where id in (
        select id from password_links where expires_at <= ${now}::timestamptz
        order by id limit ${BATCH} for update skip locked)`.execute(tables(em)),
  );
};

/** Marks obsolete unsent mails as failed, for services without a mail server. */
export const failAllObsolete = async (em: SqlEntityManager, terms: Terms): Promise<void> => {
  const open = mailRows(em, terms).where('mail.sent_at', 'is', null).where('mail.failed_at', 'is', null);
  const rows = await tables(em)
    .selectFrom(open.as('open'))
    .select(['id', 'obsolete as reason'])
    .where('obsolete', 'is not', null)
    .$narrowType<{ reason: string }>()
    .execute();
  await failObsolete(em, rows, terms.now);
};

const repeatWhileFull = async (prune: () => Promise<{ numAffectedRows?: bigint }>): Promise<void> => {
  while ((await prune()).numAffectedRows === BigInt(BATCH));
};
