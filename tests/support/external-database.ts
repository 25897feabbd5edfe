import { randomBytes } from 'node:crypto';
import { rm, symlink } from 'node:fs/promises';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import { initializeDataDir } from './data-dir.ts';
import { makeScratchFolder } from './scratch-folder.ts';
import type { Settings } from './service-process.ts';
import { administer } from './test-server.ts';

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
