import type { ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/poll.ts';
import { queryOnce } from '../support/test-server.ts';
import { killPostgres, openProcesses } from './processes.ts';
import { POSTGRES_FOLDER, PROGRAMS } from './programs.ts';

const START_TIMEOUT_MS = 90_000;
/** How long a killed primary stays the leader. Patroni from 3.1 on makes it 20. */
const LEASE_SECONDS = 10;
const PASSWORD = 'failover';

type Node = { name: string; port: number; apiPort: number };
type Member = { name: string; role: string; state: string };

export type Cluster = Awaited<ReturnType<typeof startCluster>>;

const patroniConfig = ({ name, port, apiPort }: Node, etcdPort: number, path: (name: string) => string) => ({
  scope: 'steward',
  name,
  restapi: { listen: `127.0.0.1:${apiPort}`, connect_address: `127.0.0.1:${apiPort}` },
  etcd3: { host: `127.0.0.1:${etcdPort}` },
  bootstrap: {
    dcs: {
      ttl: LEASE_SECONDS,
      loop_wait: 1,
      retry_timeout: 3,
      synchronous_mode: true,
      postgresql: { use_pg_rewind: true, parameters: { max_connections: 100, wal_keep_size: '256MB' } },
    },
    initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'no-sync'],
  },
  postgresql: {
    listen: `127.0.0.1:${port}`,
    connect_address: `127.0.0.1:${port}`,
    data_dir: path(name),
    bin_dir: POSTGRES_FOLDER,
    pgpass: path(`${name}.pgpass`),
    authentication: {
      superuser: { username: 'postgres', password: PASSWORD },
      replication: { username: 'replicator', password: PASSWORD },
      rewind: { username: 'rewinder', password: PASSWORD },
    },
    parameters: { unix_socket_directories: path(''), fsync: 'off', shared_buffers: '32MB' },
    pg_hba: [
      'local all all trust',
      'host all all 127.0.0.1/32 scram-sha-256',
      'host replication replicator 127.0.0.1/32 scram-sha-256',
    ],
  },
});

const haproxyConfig = (port: number, nodes: Node[]): string => `
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 500ms fall 1 rise 1 on-marked-down shutdown-sessions
${nodes.map((node) => `  server ${node.name} 127.0.0.1:${node.port} check port ${node.apiPort}`).join('\n')}
`;

/** Two PostgreSQL servers with synchronous replication and automatic failover: Patroni, etcd and HAProxy. */
export const startCluster = async () => {
  const processes = await openProcesses();
  const { path, start } = processes;
  try {
    const [etcdPort, peerPort, proxyPort] = [await freePort(), await freePort(), await freePort()];
    const newNode = async (name: string) => ({ name, port: await freePort(), apiPort: await freePort() });
    const nodes = [await newNode('one'), await newNode('two')];
    const supervisors = new Map<string, ChildProcess>();

    const startNode = async (node: Node): Promise<void> => {
      const file = path(`${node.name}.json`);
      await writeFile(file, JSON.stringify(patroniConfig(node, etcdPort, path)));
      supervisors.set(node.name, start(node.name, PROGRAMS.patroni, [file]));
    };
    const connectionTo = ({ port }: Node) => ({
      host: '127.0.0.1',
      port,
      user: 'postgres',
      password: PASSWORD,
      database: 'postgres',
      connectionTimeoutMillis: 1_000,
    });
    const ask = (node: Node, statement: string) => queryOnce(connectionTo(node), statement);
    const members = async (): Promise<Member[]> => {
      for (const { apiPort } of nodes) {
        const state = await fetch(`http://127.0.0.1:${apiPort}/cluster`).then(
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
      return nodes.find(({ name }) => name === found?.name);
    };
    const isWhole = async (): Promise<boolean> => {
      const leader = await nodeWith('leader');
      if (!leader || !(await nodeWith('sync_standby'))) return false;
      const [row] = await ask(
        leader,
        `select count(*)::int from pg_stat_replication where sync_state = 'sync'`,
      );
      return row?.count === 1;
    };

    const url = `--listen-client-urls=http://127.0.0.1:${etcdPort}`;
    const peers = `http://127.0.0.1:${peerPort}`;
    start('etcd', PROGRAMS.etcd, [
      `--data-dir=${path('etcd')}`,
      url,
      `--advertise-client-urls=http://127.0.0.1:${etcdPort}`,
      `--listen-peer-urls=${peers}`,
      `--initial-advertise-peer-urls=${peers}`,
      `--initial-cluster=default=${peers}`,
    ]);
    await writeFile(path('haproxy.cfg'), haproxyConfig(proxyPort, nodes));
    start('haproxy', PROGRAMS.haproxy, ['-f', path('haproxy.cfg')]);
    for (const node of nodes) await startNode(node);

    const awaitWhole = () =>
      until(
        'there is a primary and a synchronous standby',
        () => isWhole().catch(() => false),
        START_TIMEOUT_MS,
      );
    await awaitWhole();

    const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const urlOf = (host: string, parameters: string) =>
      `postgres://postgres:${PASSWORD}@${host}/postgres${parameters}`;

    return {
      urls: {
        'through HAProxy': urlOf(`127.0.0.1:${proxyPort}`, ''),
        'by two hosts in the URL': urlOf(hosts, '?target_session_attrs=read-write'),
      },
      awaitWhole,
      /** Rows of the current primary. */
      ask: async (statement: string) => {
        const leader = await nodeWith('leader');
        if (!leader) throw new Error('There is no primary.');
        return ask(leader, statement);
      },
      /** Kills the primary and its Patroni. Resolves when the other server accepts writes. */
      killPrimary: async (): Promise<{ writableAt: number; restart: () => Promise<void> }> => {
        const primary = await nodeWith('leader');
        const standby = nodes.find((node) => node !== primary);
        if (!primary || !standby) throw new Error('There is no primary.');
        supervisors.get(primary.name)?.kill('SIGKILL');
        await killPostgres(path(primary.name));
        const isWritable = async () => {
          const [row] = await ask(
            standby,
            `select current_setting('transaction_read_only') = 'off' as is_writable`,
          );
          return row?.is_writable === true;
        };
        await until('the standby is promoted', () => isWritable().catch(() => false), START_TIMEOUT_MS);
        return { writableAt: performance.now(), restart: () => startNode(primary) };
      },
      [Symbol.asyncDispose]: () => processes[Symbol.asyncDispose](),
    };
  } catch (error) {
    await processes[Symbol.asyncDispose]();
    throw error;
  }
};
