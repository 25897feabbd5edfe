import { once } from 'node:events';
import { rm, symlink } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCodeOf } from '../../lib/errno.ts';
import { DataDirInUse } from './errors.ts';
import { makeTempDir } from './temp-dir.ts';

export type InstanceLock = { release(): Promise<void> };

const SOCKET = 'instance.sock';

/** File systems without sockets, such as a folder shared with a virtual machine. */
const UNSUPPORTED = new Set(['ENOTSUP', 'EOPNOTSUPP', 'EPERM', 'ENOSYS']);

/** Lends a short path to the lock: the data directory's own may exceed what a socket address holds. */
const withShortPath = async <T>(dataDir: string, use: (path: string) => Promise<T>): Promise<T> => {
  const dir = await makeTempDir();
  try {
    await symlink(dataDir, join(dir, 'data'));
    return await use(join(dir, 'data', SOCKET));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};

/** Tells whoever connects which process holds the lock. */
const answer = (socket: Socket): void => {
  // A caller that hangs up before it has read the answer is of no concern to the holder.
  socket.on('error', () => socket.destroy());
  socket.end(String(process.pid));
};

const listen = async (path: string): Promise<Server> => {
  const server = createServer(answer).listen(path);
  await once(server, 'listening');
  return server.unref();
};

type Holder = { pid: number | undefined };

/** A holder too busy to answer within half a second has no pid; one that hangs up instead is dying. */
const readHolder = async (socket: Socket): Promise<Holder | undefined> => {
  let text = '';
  let busy = false;
  socket.setTimeout(500, () => {
    busy = true;
    socket.destroy();
  });
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  // A reset is one way of hanging up, and the close that follows it is awaited here.
  socket.on('error', () => socket.destroy());
  await new Promise((resolve) => socket.once('close', resolve));
  return busy || text !== '' ? { pid: Number(text) || undefined } : undefined;
};

/** Whether a process listens on the lock: that ends with the process, where a written pid may be reused. */
const findHolder = async (path: string): Promise<Holder | undefined> => {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return await readHolder(socket);
  } catch (error) {
    if (['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'ENOTSOCK'].includes(errorCodeOf(error) ?? ''))
      return undefined;
    throw error;
  }
};

/** Between its bind and its listen a new holder refuses for a moment, and a dying one still accepts. */
const findHolderAgain = async (path: string) => {
  await sleep(50);
  return findHolder(path);
};

const tryListen = async (path: string): Promise<Server | 'taken' | 'unsupported'> => {
  try {
    return await listen(path);
  } catch (error) {
    const code = errorCodeOf(error) ?? '';
    if (code === 'EADDRINUSE') return 'taken';
    if (UNSUPPORTED.has(code)) return 'unsupported';
    throw error;
  }
};

const acquire = async (path: string, dataDir: string): Promise<Server | undefined> => {
  for (;;) {
    const server = await tryListen(path);
    if (server === 'unsupported') return undefined;
    if (server !== 'taken') return server;

    const holder = (await findHolder(path)) ?? (await findHolderAgain(path));
    if (holder) throw new DataDirInUse(dataDir, holder.pid);
    await rm(path, { force: true });
  }
};

/**
 * Makes this process the only Steward on the data directory, also among containers that share it on one host.
 * Should two still pass (no sockets on the file system), PostgreSQL's own lock lets one start.
 * @throws DataDirInUse
 */
export const acquireInstanceLock = async (dataDir: string): Promise<InstanceLock> => {
  const server = await withShortPath(dataDir, (path) => acquire(path, dataDir));
  return {
    release: async () => {
      // Removed before it is closed: afterwards the path may be the next holder's.
      if (server?.listening) await rm(join(dataDir, SOCKET), { force: true });
      server?.close();
    },
  };
};
