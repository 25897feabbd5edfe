import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Environment } from '../environment.ts';
import type { PeerSettings } from '../peers/run-peer.ts';
import { startDjango } from './django-peer.ts';
import { type Protocol, plainTrpc, rest, superjsonTrpc } from './requests.ts';
import type { Samples } from './samples.ts';
import type { Scenario } from './scenarios.ts';

/** Names that `--peers` takes. */
export const PEERS = ['steward', 'baseline', 'django', 'trpc'] as const;
export type StartedPeer = (typeof PEERS)[number];
/** `baseline-minimal` comes with the baseline. */
export type PeerName = StartedPeer | 'baseline-minimal';

/** A server that responds as Steward does. */
export type Peer = {
  name: PeerName;
  url: string;
  pid: number;
  /** null for a scenario that the peer does not implement. */
  protocolFor: (scenario: Scenario) => Protocol | null;
  writesSameRows: (scenario: Scenario) => boolean;
  /** Replaces samples that do not work with this peer. */
  samplesOf: (samples: Samples) => Samples;
};

const PROTOCOLS: Record<StartedPeer, { default: Protocol; trpc: Protocol | null }> = {
  steward: { default: rest, trpc: superjsonTrpc },
  baseline: { default: rest, trpc: null },
  django: { default: rest, trpc: null },
  trpc: { default: plainTrpc, trpc: plainTrpc },
};

/** @throws Error for a scenario that the peer does not implement */
export const protocolOf = (peer: Peer, scenario: Scenario): Protocol => {
  const protocol = peer.protocolFor(scenario);
  if (!protocol) throw new Error(`${peer.name} does not implement ${scenario.name}.`);
  return protocol;
};

const createPeer = (name: StartedPeer, { address, pid }: { address: string; pid: number }): Peer => ({
  name,
  url: new URL(address).origin,
  pid,
  // The tRPC peer has no logins.
  protocolFor: ({ name: scenario, isTrpcOnly }) =>
    name === 'trpc' && scenario === 'login' ? null : PROTOCOLS[name][isTrpcOnly ? 'trpc' : 'default'],
  // Django has its own tokens and its own users for logins.
  writesSameRows: (scenario) => name !== 'django' || scenario.name !== 'login',
  samplesOf: (samples) => (name === 'django' ? { ...samples, logins: samples.djangoLogins } : samples),
});

const MINIMAL_SCENARIOS = ['apps', 'patch', 'bulk'];
const minimalRest: Protocol = {
  ...rest,
  build: (calls, token) => {
    const request = rest.build(calls, token);
    return { ...request, path: `/minimal${request.path}` };
  },
};

/** The same server under `/minimal`: no audit trail or mails, and usage windows read from Steward's own table. */
export const minimalPeerOf = (baseline: Peer): Peer => ({
  ...baseline,
  name: 'baseline-minimal',
  protocolFor: ({ name }) => (MINIMAL_SCENARIOS.includes(name) ? minimalRest : null),
  writesSameRows: () => false,
});

export const stewardPeer = ({ service }: Environment): Peer => createPeer('steward', service);

/** Starts a peer on Steward's database. */
export const startPeer = async (
  name: Exclude<StartedPeer, 'steward'>,
  { environment, samples }: { environment: Environment; samples: Samples },
  cleanup: AsyncDisposableStack,
): Promise<Peer> =>
  createPeer(
    name,
    name === 'django'
      ? await startDjango(environment, samples, cleanup)
      : await startNodePeer(name, environment, cleanup),
  );

/** Settings go over the IPC channel: command lines and environments are visible to other processes. */
const startNodePeer = async (
  name: 'baseline' | 'trpc',
  { connection, service }: Environment,
  cleanup: AsyncDisposableStack,
) => {
  const child = fork(join(import.meta.dirname, '../peers', name, 'main.ts'), {
    env: { ...process.env, NODE_ENV: 'production' },
    execArgv: [],
  });
  const exited = once(child, 'exit');
  cleanup.defer(async () => {
    child.kill();
    await exited;
  });
  child.send({ connection, baseUrl: service.address } satisfies PeerSettings);
  const started = once(child, 'message') as Promise<[string]>; // run-peer.ts sends its address
  const message = await Promise.race([started, exited.then(() => null)]);
  if (message === null) throw new Error(`The peer ${name} exited during startup.`);
  return { address: message[0], pid: child.pid ?? 0 };
};
