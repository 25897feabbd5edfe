import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { reasonOf } from '../../lib/errno.ts';
import type { GuardedFetch } from '../../lib/guarded-fetch.ts';
import type { Logger } from '../../lib/logger.ts';
import { telemetry } from '../../lib/telemetry.ts';
import type { SigningKeys } from '../gate/signing-keys.ts';
import { createQueueWorker, type WorkerOptions } from '../outbox/queue-worker.ts';
import type { LoginEnding } from './login-ending.ts';
import type { ClaimedLogout, LogoutAttempt, LogoutQueue } from './logout-queue.ts';

/**
 * An app may be notified a little later than Steward ends the login. So the worker needs no connection of its own to be notified, which
 * would cost each instance more than this query.
 */
const POLL_MS = 2_000;
const NO_NOTIFICATIONS = { isListening: () => true, close: async () => {} };

/** Per worker. */
const LOGOUTS_IN_FLIGHT = 100;
const MAX_ERROR_LENGTH = 500;
/** OpenID Connect Back-Channel Logout 1.0 §2.4 recommends two minutes at most. */
const TOKEN_SECONDS = 120;
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

type Deps = Pick<WorkerOptions, 'clock'> & {
  ending: LoginEnding;
  queue: LogoutQueue;
  signingKeys: SigningKeys;
  /** The issuer. */
  baseUrl: string;
  /** Must not follow redirects. */
  fetch: GuardedFetch;
  logger: Pick<Logger, 'info' | 'warn'>;
};

/** Notifies apps that logins have ended (OpenID Connect Back-Channel Logout 1.0). */
export const createLogoutWorker = (deps: Deps) => {
  const { ending, queue, signingKeys, baseUrl, fetch, clock, logger } = deps;
  const options = { clock, logger, listen: () => NO_NOTIFICATIONS, pollMs: POLL_MS };
  const closing = new AbortController();

  const tokenOf = async ({ app_id, subject, sid, signing_algorithm }: ClaimedLogout): Promise<string> => {
    const algorithm = signing_algorithm === 'ES256' ? 'ES256' : 'RS256';
    const { id, privateKey } =
      await signingKeys[algorithm === 'ES256' ? 'openid-es256' : 'openid-rs256'].signingKey();
    const issuedAt = Math.floor(clock.now().getTime() / 1000);
    return new SignJWT({ events: { [LOGOUT_EVENT]: {} }, sid })
      .setProtectedHeader({ alg: algorithm, kid: id, typ: 'logout+jwt' })
      .setIssuer(baseUrl)
      .setAudience(app_id)
      .setSubject(subject)
      .setJti(randomUUID())
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + TOKEN_SECONDS)
      .sign(privateKey);
  };

  const attempt = async (logout: ClaimedLogout): Promise<LogoutAttempt> => {
    try {
      const { status } = await fetch(logout.url, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'Steward' },
        body: new URLSearchParams({ logout_token: await tokenOf(logout) }),
        signal: closing.signal,
      });
      return { status, error: null };
    } catch (error) {
      return { status: null, error: reasonOf(error).slice(0, MAX_ERROR_LENGTH) };
    }
  };

  // Apart from the delivery, which may be full of slow apps.
  const ender = createQueueWorker(
    {
      name: 'OpenID login',
      maxInFlight: 1,
      claim: async () => ({ claimed: [], found: await ending.endDue() }),
      release: async () => {},
      msUntilDue: ending.msUntilDue,
      deliver: async () => {},
      close: () => {},
    },
    options,
  );
  const sender = createQueueWorker(
    {
      name: 'OpenID logout',
      maxInFlight: LOGOUTS_IN_FLIGHT,
      claim: queue.claim,
      release: queue.release,
      msUntilDue: queue.msUntilDue,
      deliver: async (logout, store) => {
        const result = await attempt(logout);
        const { status, error: reason } = result;
        const outcome = status !== null && status >= 200 && status < 300 ? 'delivered' : 'failed';
        telemetry.openidLogout.publish(() => ({ outcome }));
        const context = { app: logout.app_id, login: logout.id, attempt: logout.attempts, status, reason };
        if (outcome === 'delivered') logger.info(context, 'OpenID logout delivered');
        else logger.warn(context, 'OpenID logout failed');
        await store(() => queue.record(logout, result));
      },
      close: () => closing.abort(),
    },
    options,
  );
  return {
    start: (): void => {
      ender.start();
      sender.start();
    },
    /** Ends the logins that are due, and notifies the apps. */
    drain: async (): Promise<void> => {
      await ender.drain();
      await sender.drain();
    },
    stop: async (): Promise<void> => {
      await Promise.all([ender.stop(), sender.stop()]);
    },
  };
};
