import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidArgumentError } from 'commander';
import type { Client } from 'pg';
import { startEmbeddedPostgres } from '../src/adapters/embedded-postgres/index.ts';
import type { Connection } from '../src/config/connection.ts';
import { loadSecretKey } from '../src/config/secret-file.ts';
import { openClient } from '../src/db/client.ts';
import { freePort } from '../tests/support/tcp.ts';
import { DatabaseNotEmpty, fillDatabase } from './data/fill.ts';
import { defaultPlan } from './data/rows.ts';

/** A number among the options of a command. */
export const parseCount = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Expected a positive integer.');
  return Number(text);
};

/** Part of the URLs in responses, which are compared: all servers use the same. */
export const BASE_URL = 'http://steward.test';

/** The PostgreSQL server that all peers share. */
export type BenchDatabase = {
  connection: Connection;
  /** A connection for the benchmark itself, as a superuser: nobody else may run CHECKPOINT. */
  client: Client;
  postmaster: number;
  /** With which Steward uses it. */
  settings: Record<string, string>;
};

/** A folder with filled data: this one, filled if it is empty, or a temporary one. */
export const openDataDir = async (
  dataDir: string | undefined,
  cleanup: AsyncDisposableStack,
): Promise<string> => {
  const folder = dataDir === undefined ? await createTempFolder(cleanup) : resolve(dataDir);
  const { connection, stop } = await startEmbeddedPostgres({ dataDir: folder });
  try {
    await fillDatabase(connection, defaultPlan());
  } catch (error) {
    if (!(error instanceof DatabaseNotEmpty)) throw error;
  } finally {
    await stop();
  }
  return folder;
};

const createTempFolder = async (cleanup: AsyncDisposableStack): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'steward-bench-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
};

/** Enough for the pools of all peers together. */
const MAX_CONNECTIONS = '200';

export const openDatabase = async (
  dataDir: string,
  cleanup: AsyncDisposableStack,
): Promise<BenchDatabase> => {
  const settings = { max_connections: MAX_CONNECTIONS };
  const { connection, stop } = await startEmbeddedPostgres({ dataDir, postgresSettings: settings });
  cleanup.defer(stop);
  const superuser = { ...connection, user: 'postgres', startupOptions: '-c TimeZone=UTC' };
  const client = cleanup.use(await openClient(superuser, 'bench'));
  const [pid] = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  const { user, password, host, database } = connection;
  const url = `postgres://${user}:${encodeURIComponent(password)}@localhost/${database}?host=${encodeURIComponent(host)}`;
  const SECRET_KEY = await loadSecretKey(dataDir);
  return { connection, client, postmaster: Number(pid), settings: { DATABASE_URL: url, SECRET_KEY } };
};

const START_TIMEOUT_MS = 60_000;
const POLL_MS = 5;

/**
 * Starts the Steward of a checkout as its `npm start` does, in production mode.
 * @returns its process, its address and the time until it was ready
 */
export const startSteward = async (checkout: string, dataDir: string, settings: Record<string, string>) => {
  const { scripts } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8'));
  const port = String(await freePort());
  const { PATH, HOME } = process.env;
  const started = performance.now();
  // `exec`: otherwise the shell stays, and its process id would be measured.
  const command = /\bexec\b/.test(scripts.start) ? scripts.start : `exec ${scripts.start}`;
  const child = spawn('sh', ['-c', command], {
    cwd: checkout,
    env: {
      PATH: `${join(checkout, 'node_modules/.bin')}:${PATH}`,
      HOME,
      NODE_ENV: 'production',
      // The peers write no access log.
      LOG_LEVEL: 'warn',
      DATA_DIR: dataDir,
      BASE_URL,
      PORT: port,
      ...settings,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const address = `http://localhost:${port}`;
  await waitUntilReady(child, address);
  return { child, pid: child.pid ?? 0, address, startMs: performance.now() - started };
};

/** Ends it as an operator does, so that it stops its database and writes its CPU profile. */
export const stopProcess = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
};

const waitUntilReady = async (child: ChildProcess, address: string): Promise<void> => {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline && child.exitCode === null) {
    const response = await fetch(`${address}/readyz`).catch(() => null);
    if (response?.ok) return;
    await sleep(POLL_MS);
  }
  await stopProcess(child);
  throw new Error(`Steward did not start at ${address}.`);
};
