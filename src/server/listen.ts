import { createServer } from 'node:net';
import type { Config } from '../config/config.ts';

/** The service cannot listen on HOST and PORT. The message is one line for the operator. */
export class ListenError extends Error {
  constructor(cause: unknown) {
    super(reasonOf(cause), { cause });
    this.name = 'ListenError';
  }
}

const reasonOf = (cause: unknown): string => {
  const { code, port } = { code: undefined, port: '', ...(cause instanceof Error ? cause : {}) };
  if (code === 'EADDRINUSE')
    return `PORT ${port} is in use by another process. Stop it, or set another PORT.`;
  if (code === 'EACCES') return `PORT ${port} is not permitted for this user. Set another PORT.`;
  return `Cannot listen on HOST (${cause instanceof Error ? cause.message : String(cause)}).`;
};

/** @throws ListenError */
export const wrapListenError = <T>(attempt: Promise<T>): Promise<T> =>
  attempt.catch((cause: unknown) => {
    throw new ListenError(cause);
  });

/**
 * Checks that the address is free, before links and the first site's domain are created from it. PORT=0 selects a free
 * port.
 * @throws ListenError
 */
export const resolvePort = async (config: Config): Promise<Config> => {
  const port = await wrapListenError(tryListening(config));
  const baseUrl =
    config.baseUrl === `http://localhost:${config.port}` ? `http://localhost:${port}` : config.baseUrl;
  return { ...config, port, baseUrl };
};

const tryListening = ({ host, port }: Config): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen({ host, port }, () => {
      const bound = server.address();
      server.close(() => resolve(bound !== null && typeof bound === 'object' ? bound.port : port));
    });
  });
