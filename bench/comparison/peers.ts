import { execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PASSWORD } from '../data/content.ts';
import { ROOT } from '../data/people.ts';
import type { Environment } from '../environment.ts';
import type { PeerSettings } from '../processes.ts';
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

const DJANGO_FOLDER = join(import.meta.dirname, '../peers/django');
/** The distribution's Python, which has the Debian packages. */
const PYTHON = '/usr/bin/python3';
const LISTENING = /Listening at: (http:\S+)/;

const DJANGO_VERSIONS = `
import platform, django, rest_framework, gunicorn, psycopg2
print(f'Python {platform.python_version()}, Django {django.__version__}, REST framework {rest_framework.__version__}')`;
const DJANGO_HASH = `
import sys
from django.conf import settings
settings.configure()
from django.contrib.auth.hashers import make_password
print(make_password(sys.argv[1]))`;

const runPython = async (program: string, ...args: string[]): Promise<string> =>
  (await promisify(execFile)(PYTHON, ['-c', program, ...args])).stdout.trim();

/** Describes the installed versions; null if a package is missing. */
export const djangoVersions = (): Promise<string | null> => runPython(DJANGO_VERSIONS).catch(() => null);

/** Gives Django its token table, with Steward's token, and sets Django's default password hash for some users. */
const prepareDatabase = async (
  { database, token }: Environment,
  { djangoLogins }: Samples,
  cleanup: AsyncDisposableStack,
): Promise<void> => {
  await database.query('drop schema if exists bench_django cascade; create schema bench_django');
  cleanup.defer(async () => {
    await database.query('drop schema bench_django cascade');
  });
  await database.query(`create table bench_django.authtoken_token (
    key varchar(40) primary key, created timestamptz not null, user_id int not null unique)`);
  await database.query(
    'insert into bench_django.authtoken_token select $1, now(), id from users where email = $2',
    [token, ROOT],
  );
  await database.query(
    'grant usage on schema bench_django to public; grant all on bench_django.authtoken_token to public',
  );
  const hash = await runPython(DJANGO_HASH, PASSWORD);
  await database.query('update users set password_hash = $1 where email = any($2::varchar[])', [
    hash,
    djangoLogins,
  ]);
};

/** Starts gunicorn, which exits when its standard input closes. */
const startDjango = async (environment: Environment, samples: Samples, cleanup: AsyncDisposableStack) => {
  await prepareDatabase(environment, samples, cleanup);
  const { connection, service } = environment;
  const child = spawn(PYTHON, ['-m', 'gunicorn', 'django.core.wsgi:get_wsgi_application()'], {
    cwd: DJANGO_FOLDER,
    env: {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: '1',
      DJANGO_SETTINGS_MODULE: 'peer.settings',
      PEER_SETTINGS: JSON.stringify({ connection, baseUrl: service.address }),
    },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const closed = once(child, 'close');
  cleanup.defer(async () => {
    child.kill();
    await closed;
  });
  let log = '';
  for await (const text of child.stderr.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    log += text;
    const [, address] = LISTENING.exec(log) ?? [];
    if (address === undefined) continue;
    child.stderr.resume();
    return { address, pid: child.pid ?? 0 };
  }
  throw new Error(`The peer django exited during startup.\n${log}`);
};
