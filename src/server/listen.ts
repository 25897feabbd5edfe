import { createServer } from 'node:net';
import type { Config } from '../config/config.ts';
import { OperatorError, reasonOf } from '../lib/errno.ts';

const describe = (cause: unknown, prefix: string): string => {
  const { code, port } = { code: undefined, port: '', ...(cause instanceof Error ? cause : {}) };
  const setting = `${prefix}PORT`;
  if (code === 'EADDRINUSE')
    return `${setting} ${port} is in use by another process. Stop it, or set another ${setting}.`;
  if (code === 'EACCES') return `${setting} ${port} is not permitted for this user. Set another ${setting}.`;
  return `Cannot listen on ${prefix}HOST (${reasonOf(cause)}).`;
};

/**
 * @param prefix the prefix of the settings that name the address
 * @throws OperatorError
 */
export const wrapListenError = <T>(attempt: Promise<T>, prefix = ''): Promise<T> =>
  attempt.catch((cause: unknown) => {
    throw new OperatorError(describe(cause, prefix), { cause });
  });

/**
 * Checks that the addresses are free, before links and the first site's domain are derived from them. PORT=0 selects a free port.
 * @throws OperatorError
 */
export const resolvePort = async (config: Config): Promise<Config> => {
  const { metricsPort, metricsHost } = config;
  const port = await wrapListenError(tryListening(config));
  if (metricsPort > 0)
    await wrapListenError(tryListening({ port: metricsPort, host: metricsHost }), 'METRICS_');
  const baseUrl =
    config.baseUrl === `http://localhost:${config.port}` ? `http://localhost:${port}` : config.baseUrl;
  return { ...config, port, baseUrl };
};

const tryListening = ({ host, port }: Pick<Config, 'host' | 'port'>): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen({ host, port }, () => {
      const bound = server.address();
      server.close(() => resolve(bound !== null && typeof bound === 'object' ? bound.port : port));
    });
  });
