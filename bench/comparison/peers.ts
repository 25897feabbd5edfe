import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { PeerSettings } from '../peers/run-peer.ts';
import type { Place } from '../usage/place.ts';
import { type Dialect, plainTrpc, rest, superjsonTrpc } from './calls.ts';
import { startDjango } from './django-peer.ts';
import type { Kind } from './kinds.ts';
import type { Samples } from './samples.ts';

export type PeerName = 'steward' | 'floor' | 'bare' | 'django' | 'trpc';

/** A server that answers what Steward answers. */
export type Peer = {
  name: PeerName;
  port: number;
  pid: number;
  /** How it is asked; null for what it does not do. */
  dialectFor: (kind: Kind) => Dialect | null;
  /** Whether it leaves all the rows that Steward leaves. */
  writesAll: (kind: Kind) => boolean;
  /** What it is asked for, where that is something else. */
  samplesOf: (samples: Samples) => Samples;
};

const FOLDER = join(import.meta.dirname, '../peers');

/** What each peer speaks, in the order in which they take turns. */
const SPEAKS: Record<Exclude<PeerName, 'bare'>, Record<Kind['dialect'], Dialect | null>> = {
  steward: { own: rest, trpc: superjsonTrpc },
  floor: { own: rest, trpc: null },
  django: { own: rest, trpc: null },
  trpc: { own: plainTrpc, trpc: plainTrpc },
};

/** The floor without audit trail and mails, and with windows of usage as Steward keeps them, under a path of its own. */
const bareDialect: Dialect = {
  ...rest,
  write: (calls, token) => rest.write(calls, token).replace(' /api/', ' /bare/api/'),
};
const BARE_KINDS = ['apps', 'patch', 'bulk'];

const peer = (name: Exclude<PeerName, 'bare'>, address: string, pid: number): Peer => ({
  name,
  port: Number(new URL(address).port),
  pid,
  // The tRPC peer has no logins.
  dialectFor: ({ name: kind, dialect }) =>
    name === 'trpc' && kind === 'login' ? null : SPEAKS[name][dialect],
  // Django has tokens of its own, and its users for logins are others.
  writesAll: (kind) => name !== 'django' || kind.name !== 'login',
  samplesOf: (samples) => (name === 'django' ? { ...samples, logins: samples.djangoLogins } : samples),
});

export const bareOf = (floor: Peer): Peer => ({
  ...floor,
  name: 'bare',
  dialectFor: ({ name }) => (BARE_KINDS.includes(name) ? bareDialect : null),
  writesAll: () => false,
});

export const stewardAsPeer = ({ service }: Place): Peer => peer('steward', service.address, service.pid);

/** Starts a peer on the database of Steward. What it needs goes past its command, where everybody could read it. */
export const startPeer = async (
  name: Exclude<PeerName, 'steward' | 'bare'>,
  { place, samples }: { place: Place; samples: Samples },
  closing: AsyncDisposableStack,
): Promise<Peer> => {
  const { address, pid } =
    name === 'django' ? await startDjango(place, samples, closing) : await startOwnPeer(name, place, closing);
  return peer(name, address, pid);
};

/** One that is written in TypeScript. */
const startOwnPeer = async (
  name: 'floor' | 'trpc',
  { connection, service }: Place,
  closing: AsyncDisposableStack,
) => {
  const child = fork(join(FOLDER, name, 'main.ts'), {
    env: { ...process.env, NODE_ENV: 'production' },
    execArgv: [],
  });
  const ended = once(child, 'exit');
  closing.defer(async () => {
    child.kill();
    await ended;
  });
  child.send({ connection, baseUrl: service.address } satisfies PeerSettings);
  const started = once(child, 'message') as Promise<[string]>; // run-peer.ts sends its address
  const first = await Promise.race([started, ended.then(() => null)]);
  if (first === null) throw new Error(`The peer ${name} ended instead of starting.`);
  return { address: first[0], pid: child.pid ?? 0 };
};
