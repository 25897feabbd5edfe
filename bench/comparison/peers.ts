import { execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PASSWORD, ROOT } from '../data/rows.ts';
import { BASE_URL, type BenchDatabase, startSteward, stopProcess } from '../environment.ts';
import type { PeerSettings } from '../processes.ts';
import { type HttpRequest, send } from './load.ts';
import type { Call, Scenario } from './scenarios.ts';

/** Names that `--peers` takes. `before` is a Steward of another checkout. */
export const OTHER_PEERS = ['baseline', 'django', 'trpc'] as const;
export type PeerName = 'steward' | 'before' | (typeof OTHER_PEERS)[number];

/** A server that responds as Steward does. */
export type Peer = { name: PeerName; url: string; pid: number };

export const isSteward = ({ name }: Pick<Peer, 'name'>): boolean => name === 'steward' || name === 'before';

/** Only Steward has a gate, and the baseline only reads. */
export const canRun = (peer: Pick<Peer, 'name'>, { name, writes }: Scenario): boolean =>
  isSteward(peer) || (name !== 'gate' && !(writes && peer.name === 'baseline'));

export const buildRequest = ({ name }: Pick<Peer, 'name'>, call: Call, rootToken: string): HttpRequest => {
  const { method, path, body, token = rootToken } = call;
  if (name !== 'trpc') return httpRequest(method, path, token, body);
  const url = `/trpc/${call.procedure}`;
  if (method !== 'GET') return httpRequest('POST', url, token, call.input);
  return httpRequest('GET', `${url}?input=${encodeURIComponent(JSON.stringify(call.input))}`, token);
};

const httpRequest = (method: Call['method'], path: string, token: string, body?: unknown): HttpRequest => ({
  method,
  path,
  headers: {
    accept: 'application/json',
    authorization: `Token ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  },
  ...(body !== undefined && { body: JSON.stringify(body) }),
});

/** The result in a response, without tRPC's envelope. */
export const parseResponse = ({ name }: Pick<Peer, 'name'>, body: string): unknown => {
  const parsed = body === '' ? null : JSON.parse(body);
  return name === 'trpc' ? parsed.result.data : parsed;
};

type StewardOptions = { checkout: string; dataDir: string; profile: string | undefined };

/** Starts the Steward of a checkout on the shared database. */
export const startStewardPeer = async (
  name: 'steward' | 'before',
  { settings }: BenchDatabase,
  { checkout, dataDir, profile }: StewardOptions,
  cleanup: AsyncDisposableStack,
): Promise<Peer> => {
  const options = { ...(profile && { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` }) };
  const { child, pid, address } = await startSteward(checkout, dataDir, { ...settings, ...options });
  cleanup.defer(() => stopProcess(child));
  return { name, url: address, pid };
};

/** A token of the superuser, which all peers take. */
export const logIn = async ({ url }: Pick<Peer, 'url'>): Promise<string> => {
  const response = await send(url, {
    path: '/api/v1/api-token-auth/',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: ROOT, password: PASSWORD }),
  });
  const { token } = (await response.json()) as { token: string }; // as documented
  return token;
};

/** Starts a peer on Steward's tables. Settings go over the IPC channel: environments are visible to other processes. */
export const startNodePeer = async (
  name: 'baseline' | 'trpc',
  { connection }: BenchDatabase,
  cleanup: AsyncDisposableStack,
): Promise<Peer> => {
  const child = fork(join(import.meta.dirname, '../peers', name, 'main.ts'), {
    env: { ...process.env, NODE_ENV: 'production' },
    execArgv: [],
  });
  const exited = once(child, 'exit');
  cleanup.defer(() => stopProcess(child));
  child.send({ connection, baseUrl: BASE_URL } satisfies PeerSettings);
  const started = once(child, 'message') as Promise<[string]>; // `runPeer` sends its address
  const message = await Promise.race([started, exited.then(() => null)]);
  if (message === null) throw new Error(`The peer ${name} exited during startup.`);
  return { name, url: new URL(message[0]).origin, pid: child.pid ?? 0 };
};

/** The distribution's Python, which has the Debian packages. */
const PYTHON = '/usr/bin/python3';
const LISTENING = /Listening at: (http:\S+)/;
const VERSIONS = `
import platform, django, rest_framework, gunicorn, psycopg2
print(f'Python {platform.python_version()}, Django {django.__version__}, REST framework {rest_framework.__version__}')`;

/** Describes the installed versions; null if a package is missing. */
export const djangoVersions = async (): Promise<string | null> =>
  promisify(execFile)(PYTHON, ['-c', VERSIONS]).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );

/** Gives Django its own table of tokens, with Steward's token. */
const addDjangoToken = async (
  { client }: BenchDatabase,
  token: string,
  cleanup: AsyncDisposableStack,
): Promise<void> => {
  await client.query('drop schema if exists bench_django cascade; create schema bench_django');
  cleanup.defer(async () => {
    await client.query('drop schema bench_django cascade');
  });
  await client.query(`create table bench_django.authtoken_token (
    key varchar(40) primary key, created timestamptz not null, user_id int not null unique)`);
  await client.query(
    'insert into bench_django.authtoken_token select $1, now(), id from users where email = $2',
    [token, ROOT],
  );
  await client.query(
    'grant usage on schema bench_django to public; grant all on bench_django.authtoken_token to public',
  );
};

/** Starts gunicorn, which exits when its standard input closes. */
export const startDjango = async (
  database: BenchDatabase,
  token: string,
  cleanup: AsyncDisposableStack,
): Promise<Peer> => {
  await addDjangoToken(database, token, cleanup);
  const child = spawn(PYTHON, ['-m', 'gunicorn', 'django.core.wsgi:get_wsgi_application()'], {
    cwd: join(import.meta.dirname, '../peers/django'),
    env: {
      ...process.env,
      PYTHONDONTWRITEBYTECODE: '1',
      DJANGO_SETTINGS_MODULE: 'peer.settings',
      PEER_SETTINGS: JSON.stringify({ connection: database.connection, baseUrl: BASE_URL }),
    },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  cleanup.defer(() => stopProcess(child));
  let log = '';
  for await (const text of child.stderr.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    log += text;
    const [, address] = LISTENING.exec(log) ?? [];
    if (address === undefined) continue;
    child.stderr.resume();
    return { name: 'django', url: address, pid: child.pid ?? 0 };
  }
  throw new Error(`The peer django exited during startup.\n${log}`);
};

const windowColumns = (days: number): string => {
  const isInWindow = `today - day < ${days}`;
  return `coalesce(sum(actions) filter (where ${isInWindow}), 0)::int as actions${days},
    coalesce(sum(retention_histogram[${days} - (today - day)]) filter (where ${isInWindow}), 0)::int as users${days}`;
};

/** Computes from 90 daily rows per app what Steward keeps in `usage_windows`: the usual way to query rollups. */
const WINDOWS_VIEW = `create view bench_peers.counted_windows as
  select app_id, today as day, ${[30, 60, 90].map(windowColumns).join(', ')}
  from usage_app_days, (select (now() at time zone 'UTC')::date as today) as clock
  where day > today - 90 and day <= today
  group by app_id, today`;

/** The view from which the other peers read usage. */
export const createWindowsView = async (
  { client }: BenchDatabase,
  cleanup: AsyncDisposableStack,
): Promise<void> => {
  await client.query('drop schema if exists bench_peers cascade; create schema bench_peers');
  await client.query(WINDOWS_VIEW);
  cleanup.defer(async () => {
    await client.query('drop schema bench_peers cascade');
  });
  // Peers connect with Steward's role, which is no superuser.
  await client.query(
    'grant usage on schema bench_peers to public; grant select on bench_peers.counted_windows to public',
  );
};
