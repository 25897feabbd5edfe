import type { Delivery, Mailer } from '../../adapters/mail/mailer.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { maskAddresses } from '../../lib/email-address.ts';
import type { Logger } from '../../lib/logger.ts';
import { telemetry } from '../../lib/telemetry.ts';
import { type SpanDetails, tracing } from '../../lib/tracing.ts';
import { createQueueWorker, type Queue, type WorkerOptions } from '../outbox/queue-worker.ts';
import type { ClaimedMail, Outbox } from './outbox.ts';

/** The channel that the trigger of `outbox_mails` notifies. */
export const MAIL_CHANNEL = 'outbox_mails';
/** At most this many mails may be sent twice when a worker is killed. */
export const MAILS_IN_FLIGHT = 5;

type Deps = WorkerOptions & {
  outbox: Outbox;
  /** Null: links are created, so that mails can be read, but nothing is sent. */
  mailer: Mailer | null;
  /** Limit of mails that this worker begins to send in any minute; 0: none. */
  perMinute: number;
  logger: Pick<Logger, 'info' | 'warn' | 'error'>;
};

/** Sends queued mails. */
export const createMailWorker = (deps: Deps) => createQueueWorker(queueOf(deps), deps);

const queueOf = ({ outbox, mailer, perMinute, clock, logger }: Deps): Queue<ClaimedMail> => {
  const common = { name: 'mail', release: outbox.release };
  if (!mailer)
    return {
      ...common,
      maxInFlight: 0,
      claim: async () => ({ claimed: [], found: await outbox.createLinks() }),
      deliver: async () => {},
      msUntilDue: async () => null,
      close: () => {},
    };

  /** The times at which the mails of the last minute were claimed, oldest first. */
  let begun: number[] = [];
  const left = (): number => {
    const minuteAgo = clock.now().getTime() - MINUTE_MS;
    begun = begun.filter((at) => at > minuteAgo);
    return perMinute === 0 ? MAILS_IN_FLIGHT : perMinute - begun.length;
  };

  const attempt = async (mail: ClaimedMail): Promise<Delivery> => {
    try {
      const written = outbox.write(mail);
      const span = tracing.start(() => ({ name: 'send mail', kind: 'client' }));
      const delivery = await mailer.send(written);
      span?.end({ error: delivery.outcome === 'taken' ? undefined : delivery.cause });
      return delivery;
    } catch (error) {
      logger.error({ err: error, mail: mail.id }, 'a mail could not be rendered');
      return { outcome: 'failed', cause: 'rendering', reason: 'The mail could not be rendered.' };
    }
  };

  const send = async (mail: ClaimedMail): Promise<Delivery> => {
    const delivery = await attempt(mail);
    telemetry.delivery.publish(() => delivery);
    const context = { mail: mail.id, kind: mail.kind, attempt: mail.attempts };
    if (delivery.outcome === 'taken') logger.info(context, 'mail sent');
    else logger.warn({ ...context, reason: maskAddresses(delivery.reason) }, `mail ${delivery.outcome}`);
    return delivery;
  };

  return {
    ...common,
    maxInFlight: MAILS_IN_FLIGHT,
    claim: async (limit) => {
      const room = Math.min(limit, left());
      if (room === 0) return { claimed: [], found: 0 };
      const { mails, found } = await outbox.claim(room);
      const now = clock.now().getTime();
      if (perMinute > 0) begun.push(...mails.map(() => now));
      return { claimed: mails, found };
    },
    deliver: async (mail, store) => {
      // A separate trace, linked to the request: a delivery may be retried for days.
      const span = tracing.startLinked(() => spanDetailsOf(mail), mail.traceparent);
      const { outcome } = await tracing.runIn(span, async () => {
        const delivery = await send(mail);
        await store(() => outbox.recordDelivery(mail, delivery));
        return delivery;
      });
      span?.end({ error: outcome === 'taken' ? undefined : outcome });
    },
    msUntilDue: async () => {
      const dueMs = await outbox.msUntilDue();
      const [oldest] = begun;
      if (dueMs === null || left() > 0 || oldest === undefined) return dueMs;
      return Math.max(dueMs, oldest + MINUTE_MS - clock.now().getTime());
    },
    close: () => mailer.close(),
  };
};

const spanDetailsOf = ({ id, kind, attempts }: ClaimedMail): SpanDetails => ({
  name: `deliver ${kind}`,
  kind: 'consumer',
  attributes: { 'steward.mail.id': id, 'steward.mail.attempt': attempts },
});
