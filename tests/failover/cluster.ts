import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { queryOnce } from '../support/test-server.ts';
import { until } from '../support/time.ts';
import { killPostgres, openProcesses } from './processes.ts';

const TRIAL = join(import.meta.dirname, '../../deploy/ha/trial.sh');
const START_TIMEOUT_MS = 90_000;
/** Each cluster uses ports from here on: below those that the system gives to clients. */
const FIRST_PORT = 20_000;
const PORTS = 100;

const DATABASE_PARTS = ['etcd1', 'etcd2', 'etcd3', 'node1', 'node2', 'haproxy'] as const;
const NODES = ['node1', 'node2'] as const;
type Node = (typeof NODES)[number];
export type Part = (typeof DATABASE_PARTS)[number] | 'steward1' | 'steward2';
type Member = { name: string; role: string; state: string };

export type Cluster = Awaited<ReturnType<typeof startCluster>>;

/** The parts of `deploy/ha/trial.sh`, each a process: two PostgreSQL servers with synchronous replication, behind HAProxy. */
export const startCluster = async () => {
  const processes = await openProcesses();
  const { path } = processes;
  const base = FIRST_PORT + PORTS * (process.pid % PORTS);
  const running = new Map<Part, ChildProcess>();

  const start = (part: Part, settings: Record<string, string> = {}): void => {
    const log = openSync(path(`${part}.log`), 'a');
    const { PATH, HOME } = process.env;
    const child = spawn(TRIAL, [path(''), part], {
      env: { PATH, HOME, BASE_PORT: `${base}`, ...settings },
      stdio: ['ignore', log, log],
    });
    appendFileSync(path('pids'), `${child.pid}\n`);
    running.set(part, child);
  };
  const stop = async (part: Part, signal: NodeJS.Signals): Promise<void> => {
    const child = running.get(part);
    if (!child || child.exitCode !== null || child.signalCode !== null) throw new Error(`${part} has ended.`);
    child.kill(signal);
    await once(child, 'exit');
  };

  const apiPortOf = (node: Node) => base + 20 + Number(node.slice('node'.length));
  const portOf = (node: Node) => base + 30 + Number(node.slice('node'.length));
  const passwordOf = (role: string) => readFile(path(`${role}.password`), 'utf8');
  const askNode = async (node: Node, statement: string, user = 'steward', database = 'steward') => {
    const connection = {
      host: '127.0.0.1',
      port: portOf(node),
      user,
      password: await passwordOf(user),
      database,
    };
    return queryOnce({ ...connection, connectTimeoutMs: 1_000 }, statement);
  };
  const members = async (): Promise<Member[]> => {
    for (const node of NODES) {
      const state = await fetch(`http://127.0.0.1:${apiPortOf(node)}/cluster`).then(
        async (response) => (await response.json()) as { members: Member[] }, // Patroni's documentation
        () => null,
      );
      if (state) return state.members;
    }
    return [];
  };
  const nodeWith = async (role: string): Promise<Node | undefined> => {
    const found = (await members()).find(
      (member) => member.role === role && /running|streaming/.test(member.state),
    );
    return NODES.find((node) => node === found?.name);
  };
  const isWhole = async (): Promise<boolean> => {
    const leader = await nodeWith('leader');
    if (!leader || !(await nodeWith('sync_standby'))) return false;
    const replicas = `select count(*)::int from pg_stat_replication where sync_state = 'sync'`;
    const [row] = await askNode(leader, replicas, 'postgres', 'postgres');
    return row?.count === 1;
  };
  const leader = async (): Promise<Node> => {
    const node = await nodeWith('leader');
    if (!node) throw new Error('There is no primary.');
    return node;
  };

  try {
    for (const part of DATABASE_PARTS) start(part);
    const awaitWhole = () =>
      until(
        'there is a primary and a synchronous standby',
        () => isWhole().catch(() => false),
        START_TIMEOUT_MS,
      );
    await awaitWhole();

    return {
      /** Of the primary, through HAProxy. */
      url: `postgres://steward:${await passwordOf('steward')}@127.0.0.1:${base + 40}/steward`,
      /** Where HAProxy passes requests on to the instances `steward1` and `steward2`. */
      address: `http://127.0.0.1:${base + 80}`,
      addressOf: (instance: 'steward1' | 'steward2') =>
        `http://127.0.0.1:${base + 50 + Number(instance.at(-1))}`,
      start,
      stop,
      leader,
      awaitWhole,
      /** Rows of the current primary. */
      ask: async (statement: string) => askNode(await leader(), statement),
      /** Kills only PostgreSQL: Patroni runs on. */
      killServer: (node: Node) => killPostgres(path(node)),
      /** Kills a node as a power cut would: PostgreSQL and Patroni. */
      killNode: async (node: Node): Promise<void> => {
        await stop(node, 'SIGKILL');
        await killPostgres(path(node));
      },
      /** Resolves when the other node accepts writes. */
      awaitPromotion: async (of: Node): Promise<void> => {
        const other = NODES.find((node) => node !== of) ?? of;
        const isWritable = async () => {
          const [row] = await askNode(
            other,
            `select current_setting('transaction_read_only') = 'off' as is_writable`,
          );
          return row?.is_writable === true;
        };
        await until('the standby is promoted', () => isWritable().catch(() => false), START_TIMEOUT_MS);
      },
      [Symbol.asyncDispose]: () => processes[Symbol.asyncDispose](),
    };
  } catch (error) {
    await processes[Symbol.asyncDispose]();
    throw error;
  }
};
