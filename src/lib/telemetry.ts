import { channel } from 'node:diagnostics_channel';
import type { ProblemCode } from './problems.ts';

/**
 * A kind of event that the service reports over Node's diagnostics channels. Without subscribers, reporting an event costs a property
 * access. Events contain no address, name, secret or id.
 */
const eventChannel = <Event extends object>(name: string) => {
  const named = channel(`steward.${name}`);
  return {
    /** @param event called only if there are subscribers */
    publish: (event: () => Event): void => {
      if (named.hasSubscribers) named.publish(event());
    },
    subscribe: (onEvent: (event: Event) => void): void => {
      // Only `publish` publishes on this channel.
      named.subscribe((event) => onEvent(event as Event));
    },
  };
};

export type Outcome = 'ok' | ProblemCode;

/** Why a mail was not delivered: the mail server, its answer to a part of the mail, or the mail itself. */
export const DELIVERY_FAILURES = [
  'connection',
  'timeout',
  'tls',
  'login',
  'sender',
  'recipient',
  'message',
  'rendering',
  'other',
] as const;
export type DeliveryFailure = (typeof DELIVERY_FAILURES)[number];

export const telemetry = {
  /** An HTTP response. `route` is the template of the path, or `none` for an unknown path. */
  response: eventChannel<{ method: string; route: string; status: number; seconds: number }>('response'),
  /** A procedure call over REST, tRPC, a page or the command line. */
  procedure: eventChannel<{ procedure: string; outcome: Outcome; seconds: number }>('procedure'),
  /** Statements sent to the database together. */
  roundTrip: eventChannel<{ statements: number }>('round-trip'),
  /** A connection taken from the pool, after a wait. */
  connection: eventChannel<{ seconds: number }>('connection'),
  /** A password exchanged for a token or a session. */
  login: eventChannel<{ outcome: Outcome }>('login'),
  /** A ticket issued for a launch or a front end, or refused. */
  ticket: eventChannel<{ outcome: Outcome }>('ticket'),
  /** Calls refused because their caller exceeds the rate limit. */
  rateLimit: eventChannel<{ calls: number }>('rate-limit'),
  /** An attempt to pass a mail to the mail server. */
  delivery: eventChannel<{ outcome: 'taken' } | { outcome: 'failed' | 'refused'; cause: DeliveryFailure }>(
    'delivery',
  ),
  /** An attempt to deliver an event to a webhook. */
  webhook: eventChannel<{ outcome: 'delivered' | 'failed' }>('webhook'),
  /** An attempt to notify an app that a login by OpenID Connect has ended. */
  openidLogout: eventChannel<{ outcome: 'delivered' | 'failed' }>('openid-logout'),
  /** Usage entries recorded. */
  usage: eventChannel<{ inserted: number; duplicates: number }>('usage'),
  /** A run of a scheduled task. */
  task: eventChannel<{ task: string; outcome: 'ok' | 'failed' | 'timeout'; seconds: number }>('task'),
};
