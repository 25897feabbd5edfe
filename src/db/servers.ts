import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection, HostAddress } from '../config/connection.ts';
import { firstSuccess } from '../lib/first-success.ts';

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
  const hosts = [connection, ...(connection.fallbackHosts ?? [])] as const;
  let last: Server | undefined;
  let search: Promise<Server> | undefined;

  const isLast = ({ host, port }: HostAddress) => host === last?.host && port === last.port;

  const searchHost = async (host: HostAddress, signal: AbortSignal): Promise<Server> => {
    const servers = await addressesOf(host, timeoutMs);
    const attempt = (server: Server, ended: AbortSignal) => probe(server, ended).then(() => server);
    return firstSuccess(servers, attempt, { staggerMs: STAGGER_MS, signal });
  };
  const run = async (): Promise<Server> => {
    const [first, ...others] = connection.targetSession
      ? hosts.toSorted((a, b) => Number(isLast(b)) - Number(isLast(a)))
      : hosts;
    last = await firstSuccess([first ?? connection, ...others], searchHost, { staggerMs: STAGGER_MS });
    return last;
  };
  return (): Promise<Server> => {
    search ??= run().finally(() => {
      search = undefined;
    });
    return search;
  };
};

const addressesOf = async (
  { host, port }: HostAddress,
  timeoutMs: number,
): Promise<[Server, ...Server[]]> => {
  if (host.startsWith('/') || isIP(host) !== 0) return [{ host, port, address: host }];
  const timeout = sleep(timeoutMs, undefined, { ref: false }).then(() => {
    throw new Error(`no address of ${host} was found in time`);
  });
  const addresses = await Promise.race([lookup(host, { all: true }), timeout]);
  const [first, ...others] = addresses.map(({ address }) => ({ host, port, address }));
  if (first) return [first, ...others];
  throw new Error(`${host} has no address`);
};
