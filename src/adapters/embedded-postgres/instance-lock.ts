import { once } from 'node:events';
import { rm, symlink } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCodeOf } from '../../lib/errno.ts';
import { openTempDir } from './account.ts';
import { DataDirInUse } from './errors.ts';

const SOCKET = 'instance.sock';

/** Errors of file systems without sockets, such as a folder shared with a virtual machine. */
const UNSUPPORTED = new Set(['ENOTSUP', 'EOPNOTSUPP', 'EPERM', 'ENOSYS']);

/** Provides a short path to the lock, because the data directory's path may exceed the limit of socket addresses. */
const withShortPath = async <T>(dataDir: string, use: (path: string) => Promise<T>): Promise<T> => {
  await using dir = await openTempDir();
  const link = join(dir.path, 'data');
  await symlink(dataDir, link);
  return await use(join(link, SOCKET));
};

/** Sends the pid of the lock's holder. */
const answer = (socket: Socket): void => {
  // The caller may close the connection before it has read the pid.
  socket.on('error', () => socket.destroy());
  socket.end(String(process.pid));
};

const HOLDER_TIMEOUT_MS = 500;
const GONE = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'ENOTSOCK']);

/**
 * Finds the process that listens on the lock. Unlike a pid in a file, a listener cannot outlive its process. Returns no pid if
 * the holder is too busy to answer, and undefined if it is exiting.
 */
const findHolder = async (path: string): Promise<{ pid: number | undefined } | undefined> => {
  const socket = connect(path);
  let isBusy = false;
  socket.setTimeout(HOLDER_TIMEOUT_MS, () => {
    isBusy = true;
    socket.destroy();
  });
  try {
    const pid = await text(socket);
    return pid === '' ? undefined : { pid: Number(pid) };
  } catch (error) {
    if (isBusy) return { pid: undefined };
    if (GONE.has(errorCodeOf(error) ?? '')) return undefined;
    throw error;
  }
};

const tryListen = async (path: string): Promise<Server | 'taken' | 'unsupported'> => {
  const server = createServer(answer).listen(path);
  try {
    await once(server, 'listening');
    return server.unref();
  } catch (error) {
    const code = errorCodeOf(error) ?? '';
    if (code === 'EADDRINUSE') return 'taken';
    if (UNSUPPORTED.has(code)) return 'unsupported';
    throw error;
  }
};

const acquire = async (path: string, dataDir: string): Promise<Server | undefined> => {
  for (;;) {
    const server = await tryListen(path).catch((error: Error) => {
      // The short path is meaningless to the operator.
      throw Object.assign(error, { address: join(dataDir, SOCKET) });
    });
    if (server === 'unsupported') return undefined;
    if (server !== 'taken') return server;

    let holder = await findHolder(path);
    if (!holder) {
      // A new holder refuses connections between its bind and its listen.
      await sleep(50);
      holder = await findHolder(path);
    }
    if (holder) throw new DataDirInUse(dataDir, holder.pid);
    await rm(path, { force: true });
  }
};

/**
 * Makes this process the only Steward on the data directory, also among containers that share it on one host. Without
 * sockets on the file system, only PostgreSQL's lock keeps a second one from starting.
 * @throws DataDirInUse
 */
export const acquireInstanceLock = async (dataDir: string) => {
  const server = await withShortPath(dataDir, (path) => acquire(path, dataDir));
  return {
    release: async (): Promise<void> => {
      // Removed before closing: afterwards the path may belong to the next holder.
      if (server?.listening) await rm(join(dataDir, SOCKET), { force: true });
      server?.close();
    },
  };
};
