import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { Delivery, Mail } from '../../adapters/smtp/mailer.ts';
import { type Clock, MINUTE_MS } from '../../lib/clock.ts';
import { failObsolete, recordFailure, recordRefusal, recordSent, release } from './delivery-results.ts';
import { type MailContext, mailContexts } from './mail-context.ts';
import { isMailAddress } from './mail-lines.ts';
import type { MailWriter } from './mail-writer.ts';
import { claimDue, nextDue, nextSlot } from './outbox-claims.ts';
import { anyNeedsLink, createLinks, lockWithoutLink } from './outbox-links.ts';
import { failAllObsolete, pruneOutbox } from './outbox-pruning.ts';

/** Longer than any try takes, and than clocks differ: a mail that is still being sent must not seem to be lost. */
const LEASE_MS = 5 * MINUTE_MS;

type Deps = {
  /** Forked for each piece of work. */
  em: SqlEntityManager;
  clock: Clock;
  writer: MailWriter;
  invitationDays: number;
  /** Mails that all instances together may try to send in any minute; 0 is no bound. */
  perMinute: number;
  leaseMs?: number;
  /** The wait after the first failure. */
  backoffMs?: number;
};

export type Outbox = ReturnType<typeof createOutbox>;
export type ClaimedMail = MailContext;

/** The mails that are owed, as their workers see them. Any number of workers, in any number of instances. */
export const createOutbox = (deps: Deps) => {
  const { em, clock, writer, invitationDays, perMinute, leaseMs = LEASE_MS, backoffMs = MINUTE_MS } = deps;
  const terms = () => ({ now: clock.now(), invitationDays });

  /** Of these locked mails, those that make sense. The others are given up. */
  const keepDeliverable = async (tx: SqlEntityManager, ids: number[]): Promise<MailContext[]> => {
    const facts = await mailContexts(tx, terms())
      .where(sql<boolean>`mail.id = any(${ids}::bigint[])`)
      .execute();
    const ended = facts.flatMap((mail) => {
      const reason = undeliverableReason(mail);
      return reason === null ? [] : [{ id: mail.id, reason }];
    });
    await failObsolete(tx, ended, clock.now());
    return facts.filter((mail) => undeliverableReason(mail) === null);
  };

  /** In a transaction of its own, which ends before anybody else is made to wait by a claim. */
  const createMissingLinks = async (): Promise<number> => {
    if (!(await anyNeedsLink(em.fork()))) return 0;
    return em.fork().transactional(async (tx) => {
      const ids = await lockWithoutLink(tx);
      await createLinks(tx, ids, terms());
      await keepDeliverable(tx, ids);
      return ids.length;
    });
  };

  return {
    /** Takes mails to send, at most as many. `found` counts those that turned out not to be worth sending, too. */
    claim: async (limit: number): Promise<{ mails: ClaimedMail[]; found: number }> => {
      const linked = await createMissingLinks();
      return em.fork().transactional(async (tx) => {
        const ids = await claimDue(tx, { now: clock.now(), limit, leaseMs, perMinute });
        return { mails: await keepDeliverable(tx, ids), found: linked + ids.length };
      });
    },

    /** Makes the links of password mails without sending them, so that they can be read. Answers how many it found. */
    createLinks: createMissingLinks,

    write: (mail: ClaimedMail): Mail => writer.write(mail, mail.last_attempt_at ?? clock.now()),

    /** Records what came of a try. Of one that somebody else has taken over since, only success still counts. */
    recordDelivery: async (mail: ClaimedMail, delivery: Delivery): Promise<void> => {
      const [fork, now] = [em.fork(), clock.now()];
      if (delivery.outcome === 'taken') await recordSent(fork, mail, now, invitationDays);
      else if (delivery.outcome === 'refused') await recordRefusal(fork, mail, delivery.reason, now);
      else await recordFailure(fork, mail, delivery.reason, now, backoffMs);
    },

    release: async (mails: readonly ClaimedMail[]): Promise<void> => {
      for (const mail of mails) await release(em.fork(), mail, clock.now());
    },

    /** Removes what is long over. `isSent`: whether somebody sends, and so finds out what no longer makes sense. */
    prune: async ({ isSent }: { isSent: boolean }): Promise<void> => {
      if (!isSent) await failAllObsolete(em.fork(), terms());
      await pruneOutbox(em.fork(), clock.now());
    },

    /** Milliseconds until there is something to do for a worker that sends; null when nothing waits. */
    msUntilDue: async (): Promise<number | null> => {
      const due = await nextDue(em.fork());
      if (due === null) return null;
      const now = clock.now();
      const room = await nextSlot(em.fork(), now, perMinute);
      return Math.max(due.getTime(), room?.getTime() ?? 0) - now.getTime();
    },
  };
};

const undeliverableReason = ({ obsolete, recipient }: MailContext): string | null =>
  obsolete ?? (isMailAddress(recipient) ? null : 'The address is not one that mail can be sent to.');
