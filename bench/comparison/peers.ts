import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { PeerSettings } from '../peers/run-peer.ts';
import type { Place } from '../usage/place.ts';
import { type Dialect, plainTrpc, rest, superjsonTrpc } from './calls.ts';
import type { Kind } from './kinds.ts';

export type PeerName = 'steward' | 'floor' | 'bare' | 'trpc';

/** A server that answers what Steward answers. */
export type Peer = {
  name: PeerName;
  port: number;
  pid: number;
  /** How it is asked; null for what it does not do. */
  dialectFor: (kind: Kind) => Dialect | null;
  /** Whether it leaves all the rows that Steward leaves. */
  writesAll: boolean;
};

const FOLDER = join(import.meta.dirname, '../peers');

/** What each peer speaks, in the order in which they take turns. */
const SPEAKS: Record<Exclude<PeerName, 'bare'>, Record<Kind['dialect'], Dialect | null>> = {
  steward: { own: rest, trpc: superjsonTrpc },
  floor: { own: rest, trpc: null },
  trpc: { own: plainTrpc, trpc: plainTrpc },
};

/** The floor without audit trail and mails, under a path of its own. */
const bareDialect: Dialect = {
  ...rest,
  write: (calls, token) => rest.write(calls, token).replace(' /api/', ' /bare/api/'),
};
const BARE_KINDS = ['patch', 'bulk'];

const peer = (name: Exclude<PeerName, 'bare'>, address: string, pid: number): Peer => ({
  name,
  port: Number(new URL(address).port),
  pid,
  dialectFor: ({ dialect }) => SPEAKS[name][dialect],
  writesAll: true,
});

export const bareOf = (floor: Peer): Peer => ({
  ...floor,
  name: 'bare',
  dialectFor: ({ name }) => (BARE_KINDS.includes(name) ? bareDialect : null),
  writesAll: false,
});

export const stewardAsPeer = ({ service }: Place): Peer => peer('steward', service.address, service.pid);

/** Starts a peer on the database of Steward. What it needs goes over a pipe: nothing secret stands in its command. */
export const startPeer = async (
  name: Exclude<PeerName, 'steward' | 'bare'>,
  { connection, service }: Place,
  closing: AsyncDisposableStack,
): Promise<Peer> => {
  const child = fork(join(FOLDER, name, 'main.ts'), {
    env: { ...process.env, NODE_ENV: 'production' },
    execArgv: [],
  });
  closing.defer(async () => {
    if (child.exitCode !== null) return;
    child.kill();
    await once(child, 'exit');
  });
  const failed = once(child, 'exit').then(() => {
    throw new Error(`The peer ${name} ended instead of starting.`);
  });
  child.send({ connection, baseUrl: service.address } satisfies PeerSettings);
  const [address] = (await Promise.race([once(child, 'message'), failed])) as [string]; // run-peer.ts sends it
  failed.catch(() => undefined);
  return peer(name, address, child.pid ?? 0);
};
