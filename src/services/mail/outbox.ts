import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { Delivery, Mail } from '../../adapters/smtp/mailer.ts';
import { type Clock, MINUTE_MS } from '../../lib/clock.ts';
import { giveUpObsolete, recordFailure, recordRefusal, recordSent, release } from './delivery-results.ts';
import { type MailFacts, mailFacts } from './mail-context.ts';
import { isMailAddress } from './mail-lines.ts';
import type { MailWriter } from './mail-writer.ts';
import { nextDue, nextRoom, takeDue } from './outbox-claims.ts';
import { isAnyUnlinked, lockUnlinked, makeLinks } from './outbox-links.ts';
import { endObsolete, pruneOutbox } from './outbox-pruning.ts';

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
export type ClaimedMail = MailFacts;

/** The mails that are owed, as their workers see them. Any number of workers, in any number of instances. */
export const createOutbox = (deps: Deps) => {
  const { em, clock, writer, invitationDays, perMinute, leaseMs = LEASE_MS, backoffMs = MINUTE_MS } = deps;
  const terms = () => ({ now: clock.now(), invitationDays });

  /** Of these locked mails, those that make sense. The others are given up. */
  const sensible = async (tx: SqlEntityManager, ids: number[]): Promise<MailFacts[]> => {
    const facts = await mailFacts(tx, terms()).where(sql<boolean>`mail.id = any(${ids}::bigint[])`).execute();
    const ended = facts.flatMap((mail) => {
      const reason = reasonAgainst(mail);
      return reason === null ? [] : [{ id: mail.id, reason }];
    });
    await giveUpObsolete(tx, ended, clock.now());
    return facts.filter((mail) => reasonAgainst(mail) === null);
  };

  /** In a transaction of its own, which ends before anybody else is made to wait by a claim. */
  const linkSome = async (): Promise<number> => {
    if (!(await isAnyUnlinked(em.fork()))) return 0;
    return em.fork().transactional(async (tx) => {
      const ids = await lockUnlinked(tx);
      await makeLinks(tx, ids, terms());
      await sensible(tx, ids);
      return ids.length;
    });
  };

  return {
    /** Takes mails to send, at most as many. `found` counts those that turned out not to be worth sending, too. */
    claim: async (limit: number): Promise<{ mails: ClaimedMail[]; found: number }> => {
      const linked = await linkSome();
      return em.fork().transactional(async (tx) => {
        const ids = await takeDue(tx, { now: clock.now(), limit, leaseMs, perMinute });
        return { mails: await sensible(tx, ids), found: linked + ids.length };
      });
    },

    /** Makes the links of password mails without sending them, so that they can be read. Answers how many it found. */
    makeReadable: linkSome,

    write: (mail: ClaimedMail): Mail => writer.write(mail, mail.last_attempt_at ?? clock.now()),

    /** Records what came of a try. Of one that somebody else has taken over since, only success still counts. */
    settle: async (mail: ClaimedMail, delivery: Delivery): Promise<void> => {
      const [fork, now] = [em.fork(), clock.now()];
      if (delivery.outcome === 'taken') await recordSent(fork, mail, now, invitationDays);
      else if (delivery.outcome === 'refused') await recordRefusal(fork, mail, delivery.reason, now);
      else await recordFailure(fork, mail, delivery.reason, now, backoffMs);
    },

    giveBack: async (mails: readonly ClaimedMail[]): Promise<void> => {
      for (const mail of mails) await release(em.fork(), mail, clock.now());
    },

    /** Removes what is long over. `isSent`: whether somebody sends, and so finds out what no longer makes sense. */
    prune: async ({ isSent }: { isSent: boolean }): Promise<void> => {
      if (!isSent) await endObsolete(em.fork(), terms());
      await pruneOutbox(em.fork(), clock.now());
    },

    /** Milliseconds until there is something to do for a worker that sends; null when nothing waits. */
    msUntilDue: async (): Promise<number | null> => {
      const due = await nextDue(em.fork());
      if (due === null) return null;
      const now = clock.now();
      const room = await nextRoom(em.fork(), now, perMinute);
      return Math.max(due.getTime(), room?.getTime() ?? 0) - now.getTime();
    },
  };
};

const reasonAgainst = ({ obsolete, recipient }: MailFacts): string | null =>
  obsolete ?? (isMailAddress(recipient) ? null : 'The address is not one that mail can be sent to.');
