import { setTimeout as pause } from 'node:timers/promises';
import type { Delivery, Mailer } from '../../adapters/mail/mailer.ts';
import type { Notifications } from '../../db/pg-listener.ts';
import type { Clock } from '../../lib/clock.ts';
import { maskAddresses } from '../../lib/email-address.ts';
import type { Logger } from '../../lib/logger.ts';
import { telemetry } from '../../lib/telemetry.ts';
import { type SpanDetails, tracing } from '../../lib/tracing.ts';
import type { ClaimedMail, Outbox } from './outbox.ts';

/** The channel that the trigger of `outbox_mails` notifies. */
export const MAIL_CHANNEL = 'outbox_mails';
/** At most this many mails may be sent twice when a worker is killed. */
export const MAILS_IN_FLIGHT = 5;

const POLL_MS = 30_000;
/** While notifications are unavailable. */
const UNNOTIFIED_POLL_MS = 5_000;
/** Due mails that cannot be claimed are briefly locked by another worker. */
const MIN_PAUSE_MS = 250;
const RETRY_MS = 2_000;
const STOP_MS = 8_000;
/** Time to record interrupted deliveries. */
const RECORD_MS = 1_000;

type Deps = {
  outbox: Outbox;
  /** null: links are created so that mails can be read, but nothing is sent. */
  mailer: Mailer | null;
  /** Starts to listen for new mails. */
  listen: (onHeard: () => void) => Notifications;
  clock: Clock;
  logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  pollMs?: number;
  retryMs?: number;
  stopMs?: number;
};

type Delivering = Required<Pick<Deps, 'outbox' | 'clock' | 'logger' | 'retryMs'>> & {
  stopping: AbortSignal;
  onDatabaseError: (error: unknown) => void;
};

/** Sends one mail and records the result. */
const createDelivery = ({ outbox, clock, logger, retryMs, stopping, onDatabaseError }: Delivering) => {
  const attempt = async (mail: ClaimedMail, mailer: Mailer): Promise<Delivery> => {
    try {
      return await mailer.send(outbox.write(mail));
    } catch (error) {
      logger.error({ err: error, mail: mail.id }, 'a mail could not be rendered');
      return { outcome: 'failed', cause: 'rendering', reason: 'The mail could not be rendered.' };
    }
  };

  /** Retries while the database is unavailable, until the lease ends: a lost result would send the mail again. */
  const record = async (mail: ClaimedMail, delivery: Delivery): Promise<void> => {
    for (;;) {
      try {
        return await outbox.recordDelivery(mail, delivery);
      } catch (error) {
        onDatabaseError(error);
        if (stopping.aborted || clock.now() >= mail.next_attempt_at) return;
        await pause(retryMs, undefined, { ref: false });
      }
    }
  };

  const deliver = async (mail: ClaimedMail, mailer: Mailer): Promise<Delivery> => {
    const delivery = await attempt(mail, mailer);
    telemetry.delivery.publish(() => delivery);
    const context = { mail: mail.id, kind: mail.kind, attempt: mail.attempts };
    if (delivery.outcome === 'taken') logger.info(context, 'mail sent');
    else logger.warn({ ...context, reason: maskAddresses(delivery.reason) }, `mail ${delivery.outcome}`);
    await record(mail, delivery);
    return delivery;
  };

  return async (mail: ClaimedMail, mailer: Mailer): Promise<void> => {
    // A separate trace, linked to the request: a delivery may be tried again for days.
    const span = tracing.startLinked(() => spanDetailsOf(mail), mail.traceparent);
    const { outcome } = await tracing.runIn(span, () => deliver(mail, mailer));
    span?.end({ error: outcome === 'taken' ? undefined : outcome });
  };
};

const spanDetailsOf = ({ id, kind, attempts }: ClaimedMail): SpanDetails => ({
  name: `deliver ${kind}`,
  kind: 'consumer',
  attributes: { 'steward.mail.id': id, 'steward.mail.attempt': attempts },
});

/** Sends queued mails. Every instance runs one worker; they share the queue through the database. */
export const createMailWorker = (deps: Deps) => {
  const { outbox, mailer, listen, clock, logger } = deps;
  const { pollMs = POLL_MS, retryMs = RETRY_MS, stopMs = STOP_MS } = deps;
  let alarm = new AbortController();
  const sending = new Set<Promise<void>>();
  const stopping = new AbortController();
  let isDatabaseUnavailable = false;
  let running: Promise<void> | undefined;
  let notifications: Notifications | undefined;

  const wake = (): void => alarm.abort();
  /** Ends early if there was a wake-up since the last check for work, so that none is lost. */
  const sleep = (ms: number): Promise<void> =>
    pause(ms, undefined, { ref: false, signal: alarm.signal }).catch(() => {}); // it was woken

  const onDatabaseError = (err: unknown): void => {
    if (!isDatabaseUnavailable) logger.warn({ err }, 'the mail worker cannot reach the database; retrying');
    isDatabaseUnavailable = true;
  };
  const { signal } = stopping;
  const deliver = createDelivery({ outbox, clock, logger, retryMs, stopping: signal, onDatabaseError });

  /** Starts to send due mails, up to the free connections. Returns how many mails it found. */
  const startDue = async (): Promise<number> => {
    if (!mailer) return outbox.createLinks();
    const room = MAILS_IN_FLIGHT - sending.size;
    if (room === 0) return 0;
    const { mails, found } = await outbox.claim(room);
    if (signal.aborted) {
      await outbox.release(mails);
      return 0;
    }
    for (const mail of mails) {
      const work = deliver(mail, mailer).finally(() => {
        sending.delete(work);
        wake();
      });
      sending.add(work);
    }
    return found;
  };

  const pauseMs = async (): Promise<number> => {
    const dueMs = mailer && sending.size < MAILS_IN_FLIGHT ? await outbox.msUntilDue() : null;
    const longestMs = notifications?.isListening() ? pollMs : Math.min(pollMs, UNNOTIFIED_POLL_MS);
    return Math.min(longestMs, Math.max(MIN_PAUSE_MS, dueMs ?? longestMs));
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      alarm = new AbortController();
      try {
        const found = await startDue();
        isDatabaseUnavailable = false;
        if (found === 0 || sending.size === MAILS_IN_FLIGHT) await sleep(await pauseMs());
      } catch (error) {
        onDatabaseError(error);
        await sleep(retryMs);
      }
    }
  };

  return {
    start: (): void => {
      notifications = listen(wake);
      running = run();
    },

    /** Sends all due mails and waits for them. */
    drain: async (): Promise<void> => {
      while ((await startDue()) > 0 || sending.size > 0) {
        if (sending.size > 0) await Promise.race(sending);
      }
    },

    /** Claims no more mails and gives running deliveries 8 s to finish. */
    stop: async (): Promise<void> => {
      stopping.abort();
      wake();
      const closeTimer = setTimeout(() => mailer?.close(), stopMs);
      const finished = Promise.all([notifications?.close(), running]).then(() => Promise.all(sending));
      await Promise.race([finished, pause(stopMs + RECORD_MS, undefined, { ref: false })]);
      clearTimeout(closeTimer);
      mailer?.close();
    },
  };
};
