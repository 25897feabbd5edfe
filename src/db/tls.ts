import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, getCACertificates } from 'node:tls';
import type { DatabaseTls } from '../config/connection.ts';

/** The TLS options of a connection to `host`. Files are read for each, so that renewed certificates are used. */
export const tlsOptionsOf = async (
  { mode, rootCertificate, client }: DatabaseTls,
  host: string,
): Promise<ConnectionOptions> => {
  const [ca, cert, key] = await Promise.all([
    rootCertificate === 'system' ? getCACertificates('system') : readIfNamed(rootCertificate),
    readIfNamed(client?.certificate),
    readIfNamed(client?.key),
  ]);
  return {
    rejectUnauthorized: mode.startsWith('verify'),
    // Named here, since the driver knows the address, or no name at all.
    checkServerIdentity: (_name, certificate) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca && { ca }),
    ...(cert && key && { cert, key }),
  };
};

const readIfNamed = async (path: string | undefined): Promise<string | undefined> =>
  path === undefined ? undefined : readFile(path, 'utf8');
