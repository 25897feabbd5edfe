import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { z } from 'zod';
import { errorCodeOf } from '../lib/errno.ts';
import type { Connection, DatabaseTls } from './connection.ts';

const MAX_TIMEOUT_SECONDS = 300;
const TIMEOUT_RANGE = `must be 1 to ${MAX_TIMEOUT_SECONDS} (seconds)`;

/** The parameters of a connection URL that are supported, with the meaning that libpq gives them. */
const Parameters = z.strictObject({
  host: z.string().optional(),
  port: z.string().optional(),
  user: z.string().min(1, 'must not be empty').optional(),
  password: z.string().optional(),
  dbname: z.string().min(1, 'must not be empty').optional(),
  sslmode: z
    .enum(
      ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'],
      'must be disable, prefer, require, verify-ca or verify-full',
    )
    .optional(),
  sslrootcert: z.string().min(1, 'must name a file, or be system').optional(),
  sslcert: z.string().min(1, 'must name a file').optional(),
  sslkey: z.string().min(1, 'must name a file').optional(),
  target_session_attrs: z
    .enum(['any', 'read-write', 'primary'], 'must be any, read-write or primary, since the service writes')
    .optional(),
  application_name: z.string().min(1, 'must not be empty').optional(),
  connect_timeout: z
    .string()
    .regex(/^\d{1,3}$/, TIMEOUT_RANGE)
    .transform(Number)
    .pipe(z.number().min(1, TIMEOUT_RANGE).max(MAX_TIMEOUT_SECONDS, TIMEOUT_RANGE))
    .optional(),
  options: z.string().optional(),
});

export type DatabaseParameters = z.infer<typeof Parameters>;

/** @throws TypeError that names each parameter that is unknown or has a wrong value; values are not repeated */
export const parseDatabaseParameters = (given: Record<string, string>): DatabaseParameters => {
  const parsed = Parameters.safeParse(given);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? `has parameters that are not supported: ${issue.keys.join(', ')}`
      : `${String(issue.path[0])} ${issue.message}`,
  );
  throw new TypeError(faults.join('; '));
};

/** @throws TypeError where the parameters contradict each other or a file cannot be used */
export const tlsOf = (parameters: DatabaseParameters): DatabaseTls | undefined => {
  const { sslrootcert, sslcert, sslkey } = parameters;
  const sslmode = parameters.sslmode ?? (sslrootcert === 'system' ? 'verify-full' : 'prefer');
  const isVerified = sslmode.startsWith('verify');
  if ((sslcert === undefined) !== (sslkey === undefined))
    throw new TypeError('sslcert and sslkey must be set together');
  if (isVerified && sslrootcert === undefined)
    throw new TypeError(`sslrootcert must be set with sslmode=${sslmode}: a file, or system`);
  if ((sslrootcert ?? sslcert) !== undefined && (sslmode === 'disable' || sslmode === 'prefer'))
    throw new TypeError('sslrootcert and sslcert need sslmode=require, verify-ca or verify-full');
  if (sslrootcert === 'system' && sslmode !== 'verify-full')
    throw new TypeError('sslrootcert=system needs sslmode=verify-full');
  if (sslmode === 'disable') return undefined;

  if (sslrootcert !== undefined && sslrootcert !== 'system') {
    const pem = readParameterFile('sslrootcert', sslrootcert);
    check('sslrootcert must be a file of PEM certificates', () => new X509Certificate(pem));
  }
  const client = sslcert !== undefined && sslkey !== undefined && checkedClient(sslcert, sslkey);
  return {
    // As libpq: trusted certificates that are named are also used.
    mode: sslmode === 'require' && sslrootcert !== undefined ? 'verify-ca' : sslmode,
    ...(sslrootcert !== undefined && { rootCertificate: sslrootcert }),
    ...(client && { client }),
  };
};

const checkedClient = (certificate: string, key: string): NonNullable<DatabaseTls['client']> => {
  const pem = {
    cert: readParameterFile('sslcert', certificate),
    key: readParameterFile('sslkey', key),
  };
  check('sslcert must be a file of PEM certificates', () => new X509Certificate(pem.cert));
  check('sslkey must be a PEM private key without a password', () => createPrivateKey(pem.key));
  check('sslkey is not the key of sslcert', () => createSecureContext(pem));
  return { certificate, key };
};

const readParameterFile = (name: string, path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new TypeError(`${name} cannot be read (${errorCodeOf(cause) ?? 'unknown error'})`, { cause });
  }
};

const check = (message: string, work: () => unknown): void => {
  try {
    work();
  } catch (cause) {
    throw new TypeError(message, { cause });
  }
};

/** What else of a connection the parameters say. */
export const sessionParametersOf = ({
  target_session_attrs: attributes,
  application_name: applicationName,
  connect_timeout: seconds,
  options,
}: DatabaseParameters): Partial<Connection> => ({
  ...(attributes !== undefined && attributes !== 'any' && { targetSession: attributes }),
  ...(applicationName !== undefined && { applicationName }),
  ...(seconds !== undefined && { connectTimeoutMs: seconds * 1000 }),
  ...(options !== undefined && { startupOptions: options }),
});
