import { once } from 'node:events';
import { chmod, chown, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import { SUPERUSER } from '../../src/adapters/embedded-postgres/initdb.ts';
import { initializeDataDir } from './data-dir.ts';
import { AUTHORITY, CLIENT, SERVER } from './database-certificates.ts';
import { freePort } from './free-port.ts';
import { makeScratchFolder } from './scratch-folder.ts';
import { administer } from './test-server.ts';

type Options = {
  hasTls?: boolean;
  /** Line of `pg_hba.conf` for connections by TCP. */
  access?: string;
  settings?: Record<string, string>;
};

export type TcpDatabase = Awaited<ReturnType<typeof startTcpDatabase>>;

/** A PostgreSQL server that listens on localhost, with the certificates of `database-certificates.ts`. */
export const startTcpDatabase = async ({ hasTls = false, access, settings = {} }: Options = {}) => {
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
      ...settings,
    },
  });
  const { user, password, database } = server.connection;

  return {
    port,
    /** Through the Unix socket. */
    connection: server.connection,
    files,
    /** Through TCP. */
    url: (parameters = '', hosts = `localhost:${port}`): string =>
      `postgres://${user}:${password}@${hosts}/${database}?${parameters}`,
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

/** A host that accepts connections and never answers. */
export const startSilentHost = async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a TCP server
  return {
    port,
    connections: (): number => sockets.size,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
