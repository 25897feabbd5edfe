import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SUPERUSER } from '../../src/adapters/embedded-postgres/cluster.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import type { Connection } from '../../src/config/connection.ts';
import { AUTHORITY, CLIENT, SERVER } from './certificates.ts';
import { makeScratchFolder } from './files.ts';
import type { Settings } from './service-process.ts';
import { freePort } from './tcp.ts';
import { administer, initializeDataDir } from './test-server.ts';

/**
 * A PostgreSQL server that no service owns. Each start uses a new socket directory. Services connect through a link to it, so
 * that they reach the restarted server too.
 */
export const startExternalDatabase = async () => {
  const folder = await makeScratchFolder();
  const socketLink = folder.join('socket');
  const dataDir = await initializeDataDir(folder.join('database'));
  let server: EmbeddedPostgres | undefined;

  const start = async (): Promise<void> => {
    server = await startEmbeddedPostgres({ dataDir, postgresSettings: { fsync: 'off' } });
    await rm(socketLink, { force: true });
    await symlink(server.connection.host, socketLink);
  };
  const connection = () => {
    if (!server) throw new Error('The server was never started.');
    return server.connection;
  };
  await start();

  return {
    start,
    stop: async (): Promise<void> => server?.stop(),

    /** An empty database, as the settings of a service name it and as a connection. */
    makeDatabase: async () => {
      const database = `test_${randomBytes(4).toString('hex')}`;
      await administer(connection(), `create database ${database}`);
      const { user, password } = connection();
      const settings: Settings = {
        DATABASE_URL: `postgres://${user}:${password}@localhost/${database}?host=${socketLink}`,
        SECRET_KEY: 'a secret key that only tests ever use',
      };
      return { settings, connection: { ...connection(), database } };
    },

    [Symbol.asyncDispose]: async (): Promise<void> => {
      await server?.stop();
      await folder[Symbol.asyncDispose]();
    },
  };
};

type Options = {
  hasTls?: boolean;
  /** Line of `pg_hba.conf` for connections by TCP. */
  access?: string;
};

export type TcpDatabase = Awaited<ReturnType<typeof startTcpDatabase>>;

/** A PostgreSQL server that listens on localhost, with the certificates of `database-certificates.ts`. */
export const startTcpDatabase = async ({ hasTls = false, access }: Options = {}) => {
  const folder = await makeScratchFolder();
  await chmod(folder.path, 0o755);
  const dataDir = await initializeDataDir(folder.join('data'));
  // The owner of the cluster must be able to read the files.
  const { uid, gid } = await stat(join(dataDir, 'postgres'));
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(folder.join(name), text, { mode: 0o600 });
    await chown(folder.join(name), uid, gid);
    return folder.join(name);
  };
  const files = {
    authority: await write('ca.pem', AUTHORITY),
    serverCertificate: await write('server.pem', SERVER.certificate),
    serverKey: await write('server.key', SERVER.key),
    certificate: await write('client.pem', CLIENT.certificate),
    key: await write('client.key', CLIENT.key),
  };
  const hba = await write(
    'hba',
    `local all all scram-sha-256\n${access ?? 'host all all all scram-sha-256'}\n`,
  );
  const port = await freePort();
  const server = await startEmbeddedPostgres({
    dataDir,
    postgresSettings: {
      fsync: 'off',
      listen_addresses: 'localhost',
      port: String(port),
      hba_file: hba,
      ...(hasTls && {
        ssl: 'on',
        ssl_ca_file: files.authority,
        ssl_cert_file: files.serverCertificate,
        ssl_key_file: files.serverKey,
      }),
    },
  });
  const { user, password, database } = server.connection;

  return {
    port,
    /** Through the Unix socket. */
    connection: server.connection,
    files,
    /** Through TCP. */
    url: (parameters = '', host = `localhost:${port}`): string =>
      `postgres://${user}:${password}@${host}/${database}?${parameters}`,
    /** Makes the server refuse writes like a standby, in open sessions too. */
    setReadOnly: (isReadOnly: boolean): Promise<void> =>
      administer(
        { ...server.connection, user: SUPERUSER },
        `alter system set default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`,
        'select pg_reload_conf()',
      ),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await server.stop();
      await folder[Symbol.asyncDispose]();
    },
  };
};

/** Runs the embedded database of the folder in its argument. */
export const EMBEDDED_OWNER = new URL('../fixtures/embedded-owner.ts', import.meta.url).pathname;

/** Starts the embedded database in a separate process, so that it can be killed. Resolves when it accepts connections. */
export const startEmbeddedOwner = async (
  dataDir: string,
): Promise<{ owner: ChildProcess; connection: Connection }> => {
  const owner = spawn(process.execPath, [EMBEDDED_OWNER, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(owner.stdout, 'data');
  return { owner, connection: JSON.parse(String(line)) };
};
