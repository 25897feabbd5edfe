import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect as connectTcp, isIP } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { TlsFiles } from '../../config/sink-config.ts';

type Server = { host: string; port: number; isEncrypted: boolean };

type TlsOptions = Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>;

/** Read for each connection, so that renewed certificates are used. */
export const readTls = async ({ ca, certificate, key }: TlsFiles): Promise<TlsOptions> => ({
  ...(ca !== undefined && { ca: await readFile(ca) }),
  ...(certificate !== undefined && { cert: await readFile(certificate) }),
  ...(key !== undefined && { key: await readFile(key) }),
});

/**
 * Connects to a server and ignores what it sends.
 * @throws Error
 */
export const openConnection = async (
  { host, port, isEncrypted }: Server,
  files: TlsFiles,
  signal: AbortSignal,
) => {
  signal.throwIfAborted();
  const tls = isEncrypted ? await readTls(files) : {};
  const socket = isEncrypted
    ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }), ...tls })
    : connectTcp({ host, port });
  addAbortSignal(signal, socket);
  /** Resolves when either end closes the connection: with the error, or with null if the server closed it properly. */
  const closed = new Promise<Error | null>((resolve) => {
    socket.on('error', resolve).once('end', () => resolve(null));
    socket.once('close', () => resolve(new Error('the connection was closed')));
  });
  socket.resume();
  const failed = async (): Promise<never> => {
    throw (await closed) ?? new Error('the server has closed the connection');
  };
  try {
    await Promise.race([once(socket, isEncrypted ? 'secureConnect' : 'connect'), failed()]);
  } catch (error) {
    socket.destroy();
    throw error;
  }

  return {
    /** Resolves when the kernel has taken all bytes. @throws Error if the connection breaks */
    write: (bytes: Buffer): Promise<void> =>
      Promise.race([
        new Promise<void>((resolve, reject) => {
          socket.write(bytes, (error) => (error ? reject(error) : resolve()));
        }),
        failed(),
      ]),

    /** Waits. @throws Error if the connection breaks meanwhile */
    stayOpen: async (ms: number): Promise<void> => {
      const waiting = new AbortController();
      const ends = AbortSignal.any([signal, waiting.signal]);
      await Promise.race([pause(ms, undefined, { signal: ends }), failed()]).finally(() => waiting.abort());
    },

    /** Half-closes the connection, and waits until the server has read everything and closes it as well. @throws Error */
    finish: async (): Promise<void> => {
      socket.end();
      const cause = await closed;
      if (cause) throw cause;
    },

    [Symbol.dispose]: (): void => {
      socket.destroy();
    },
  };
};
