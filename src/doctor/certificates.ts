import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Connection } from '../config/connection.ts';
import { tlsOptionsOf } from '../db/client.ts';
import { DAY_MS, systemClock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errno.ts';
import { formatCount } from '../lib/operator-text.ts';
import { failure, ok, type Result, warning } from './finding.ts';

/** Let's Encrypt certificates are renewed 30 days before the end: fewer days mean that a renewal has failed. */
const MIN_DAYS = 21;

type Valid = Pick<X509Certificate, 'validToDate'>;

/** @param what names the certificate in the middle of a sentence */
export const checkExpiry = (what: string, { validToDate }: Valid, now = systemClock.now()): Result => {
  const days = Math.floor((validToDate.getTime() - now.getTime()) / DAY_MS);
  const date = validToDate.toISOString().slice(0, 10);
  if (days < 0) return failure(`${what} expired on ${date}.`, 'Renew it.');
  if (days < MIN_DAYS) {
    const left = days === 0 ? 'within a day' : `in ${formatCount(days, 'day')}`;
    return warning(`${what} expires ${left}, on ${date}.`, 'Renew it.');
  }
  return ok(`${what} is valid until ${date}.`);
};

const TIMEOUT_MS = 5_000;
/** PostgreSQL's protocol: the length of the message, and the code of SSLRequest. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

/** When the certificates of the connection expire: the server's, the authority's and the client's. */
export const checkDatabaseCertificates = async (connection: Connection): Promise<Result[]> => {
  const { tls } = connection;
  if (!tls) return [];
  const results: Result[] = [];
  const files = { sslrootcert: tls.rootCertificate, sslcert: tls.client?.certificate };
  for (const [name, file] of Object.entries(files)) {
    if (file === undefined || file === 'system') continue;
    results.push(checkExpiry(`The certificate in ${name}`, new X509Certificate(await readFile(file))));
  }
  try {
    const certificate = await readServerCertificate(connection);
    if (certificate) results.push(checkExpiry('The certificate of the database', certificate));
  } catch (error) {
    const message = `The certificate of the database cannot be read (${reasonOf(error)}).`;
    results.push(warning(message, 'Check the server.'));
  }
  return results;
};

/** `pg` does not expose the certificate. Undefined if the server refuses TLS. */
const readServerCertificate = async ({ host, port, tls }: Connection) => {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const socket = connectTcp({ host, port, signal });
  try {
    await once(socket, 'connect');
    socket.write(SSL_REQUEST);
    const [answer] = await once(socket, 'data', { signal });
    if (!tls || String(answer) !== 'S') return undefined;
    const encrypted = connectTls({ socket, ...(await tlsOptionsOf(tls, host)), rejectUnauthorized: false });
    await once(encrypted, 'secureConnect', { signal });
    return encrypted.getPeerX509Certificate();
  } finally {
    socket.destroy();
  }
};
