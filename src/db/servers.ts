import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection, HostAddress } from '../config/connection.ts';

/** One address of a host. */
export type Server = HostAddress & { address: string };

/** Proves that a server can be used. The signal says that the search has ended. */
export type Probe = (server: Server, signal: AbortSignal) => Promise<void>;

const STAGGER_MS = 500;

/**
 * Finds the server to use among the addresses of all hosts, in their order. Where only one server can be right, the host that
 * was right the last time is tried first. Connections that are opened at the same time share a search.
 */
export const createServerSearch = (connection: Connection, timeoutMs: number, probe: Probe) => {
  const hosts = [connection, ...(connection.fallbackHosts ?? [])];
  if (hosts.length === 1 && !connection.targetSession)
    return async (): Promise<Server> => ({ ...connection, address: connection.host });
  let last: Server | undefined;
  let search: Promise<Server> | undefined;

  const isLast = ({ host, port }: HostAddress) => host === last?.host && port === last.port;

  const searchHost = async (host: HostAddress, signal: AbortSignal): Promise<Server> => {
    const servers = await addressesOf(host, timeoutMs);
    const attempt = (server: Server, ended: AbortSignal) => probe(server, ended).then(() => server);
    return firstSuccess(servers, attempt, { staggerMs: STAGGER_MS, signal });
  };
  const run = async (): Promise<Server> => {
    const ordered = connection.targetSession
      ? hosts.toSorted((a, b) => Number(isLast(b)) - Number(isLast(a)))
      : hosts;
    last = await firstSuccess(ordered, searchHost, { staggerMs: STAGGER_MS });
    return last;
  };
  return (): Promise<Server> => {
    search ??= run().finally(() => {
      search = undefined;
    });
    return search;
  };
};

const addressesOf = async ({ host, port }: HostAddress, timeoutMs: number): Promise<Server[]> => {
  if (host.startsWith('/') || isIP(host) !== 0) return [{ host, port, address: host }];
  const timeout = sleep(timeoutMs, undefined, { ref: false }).then(() => {
    throw new Error(`no address of ${host} was found in time`);
  });
  const addresses = await Promise.race([lookup(host, { all: true }), timeout]);
  return addresses.map(({ address }) => ({ host, port, address }));
};

/**
 * Resolves with the first success. Attempts start in the order of the items, each when the one before has failed or has taken
 * `staggerMs`, as in Happy Eyeballs (RFC 8305). A success aborts the signal of the others.
 * @throws AggregateError of all failures
 */
export const firstSuccess = async <Item, Result>(
  items: readonly Item[],
  attempt: (item: Item, signal: AbortSignal) => Promise<Result>,
  { staggerMs, signal }: { staggerMs: number; signal?: AbortSignal },
): Promise<Result> => {
  const done = new AbortController();
  const stopSignal = signal ? AbortSignal.any([done.signal, signal]) : done.signal;
  let ready: Promise<unknown> = Promise.resolve();
  const attempts = items.map((item) => {
    const result = ready.then(async () => {
      stopSignal.throwIfAborted();
      const value = await attempt(item, stopSignal);
      done.abort();
      return value;
    });
    const slow = ready.then(() => sleep(staggerMs, undefined, { signal: stopSignal }));
    ready = Promise.race([result, slow]).catch(() => {});
    return result;
  });
  return Promise.any(attempts).finally(() => done.abort());
};
