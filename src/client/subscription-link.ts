import { httpSubscriptionLink, type TRPCLink } from '@trpc/client';
import { EventSource, type EventSourceFetchInit } from 'eventsource';
import superjson from 'superjson';
import type { AppRouter } from './app-router.ts';
import type { Send } from './responses.ts';

export type SubscriptionDeps = {
  url: string;
  send: Send;
  headers: () => Promise<Record<string, string>>;
};

/** Loaded with the first subscription. Unlike the `EventSource` of browsers, the package's sends tokens, and runs on Node. */
export const createSubscriptionLink = ({ url, send, headers }: SubscriptionDeps): TRPCLink<AppRouter> => {
  const fetchStream = async (address: string | URL, init: EventSourceFetchInit): Promise<Response> =>
    send(String(address), { ...init, headers: { ...init.headers, ...(await headers()) } });
  return httpSubscriptionLink({
    url,
    transformer: superjson,
    EventSource,
    eventSourceOptions: { fetch: fetchStream },
  });
};
