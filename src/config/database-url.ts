import { parse } from 'pg-connection-string';
import { z } from 'zod';
import { withoutBrackets } from '../lib/urls.ts';
import type { Connection, DatabaseTls } from './connection.ts';

const SCHEME = /^postgres(ql)?:\/\//;
/** Signs of an unencoded password: a part of it is read as the path, parameters or a fragment. `parse` would guess at spaces and `%`. */
const UNENCODED = /#|^[^/?]*[/?].*@|^[^?]*(\s|%(?![\da-f]{2})|%00)/i;
const MALFORMED =
  'must have the form postgres://user:password@host:port/database; the port must be 1 to 65535, and / ? # @ : % and spaces within the password must be percent-encoded';
const ONE_HOST =
  'must name one host; put HAProxy, PgBouncer or a virtual address in front of several (docs/high-availability.md, deploy/ha)';

/**
 * Reads `postgres://user:password@host:port/database?parameters`. Parameters have the same meaning as in libpq.
 * @throws TypeError if the URL is invalid; the message never contains the URL, because it contains a password
 */
export const parseDatabaseUrl = (url: string): Connection => {
  if (!SCHEME.test(url)) throw new TypeError('must start with postgres://');
  const rest = url.replace(SCHEME, '');
  if (UNENCODED.test(rest)) throw new TypeError(MALFORMED);
  const [address = '', query = ''] = rest.split(/\?(.*)/s);
  // Unlike in form data, a plus sign is not a space.
  const parameters = Object.fromEntries(new URLSearchParams(query.replaceAll('+', '%2B')));
  const hosts = [address.replace(/\/.*/s, '').replace(/^.*@/s, ''), parameters.host, parameters.port];
  if ('target_session_attrs' in parameters || hosts.some((part) => part?.includes(',')))
    throw new TypeError(ONE_HOST);
  const given = { ...readAddress(address), ...parameters };
  if (!given.dbname) throw new TypeError('must end in the name of a database');

  const read = parseParameters(given);
  const tls = tlsOf(read);
  return {
    host: read.host,
    port: read.port,
    user: read.user,
    password: read.password,
    database: read.dbname,
    // A Unix socket has no TLS, as in libpq.
    ...(tls && !read.host.startsWith('/') && { tls }),
    ...(read.application_name !== undefined && { applicationName: read.application_name }),
    ...(read.connect_timeout !== undefined && { connectTimeoutMs: read.connect_timeout * 1000 }),
    ...(read.options !== undefined && { startupOptions: read.options }),
  };
};

/** The parts of the URL before its parameters, under the names of the equivalent parameters. */
const readAddress = (address: string): Record<string, string> => {
  try {
    const { host, port, user, password, database: dbname } = parse(`postgres://${address}`);
    const named = Object.entries({ host, port, user, password, dbname });
    return Object.fromEntries(named.flatMap(([name, value]) => (value ? [[name, value]] : [])));
  } catch {
    // Without the cause, which could contain the text.
    throw new TypeError(MALFORMED);
  }
};

const wholeNumber = (max: number, unit = '') => {
  const error = `must be 1 to ${max}${unit}`;
  return z.coerce.number(error).int(error).min(1, error).max(max, error);
};

const Parameters = z.strictObject({
  host: z.string().min(1, 'must not be empty').transform(withoutBrackets).default('localhost'),
  port: wholeNumber(65_535).default(5432),
  user: z.string().min(1, 'must not be empty').default('postgres'),
  password: z.string().default(''),
  dbname: z.string(),
  sslmode: z
    .enum(
      ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'],
      'must be disable, prefer, require, verify-ca or verify-full',
    )
    .optional(),
  sslrootcert: z.string().min(1, 'must name a file, or be system').optional(),
  sslcert: z.string().min(1, 'must name a file').optional(),
  sslkey: z.string().min(1, 'must name a file').optional(),
  application_name: z.string().min(1, 'must not be empty').optional(),
  connect_timeout: wholeNumber(300, ' (seconds)').optional(),
  options: z.string().optional(),
});

type DatabaseParameters = z.infer<typeof Parameters>;

/** @throws TypeError that names each unknown parameter and each parameter with an invalid value; values are not repeated */
const parseParameters = (given: Record<string, string>): DatabaseParameters => {
  const parsed = Parameters.safeParse(given);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? `has parameters that are not supported: ${issue.keys.join(', ')}`
      : `${String(issue.path[0])} ${issue.message}`,
  );
  throw new TypeError(faults.join('; '));
};

/** @throws TypeError if parameters contradict each other: neither `pg` nor `node:tls` would notice, and the connection would be weaker */
const tlsOf = (parameters: DatabaseParameters): DatabaseTls | undefined => {
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
  return {
    // As in libpq: if trusted certificates are named, they are used.
    mode: sslmode === 'require' && sslrootcert !== undefined ? 'verify-ca' : sslmode,
    ...(sslrootcert !== undefined && { rootCertificate: sslrootcert }),
    ...(sslcert !== undefined && sslkey !== undefined && { client: { certificate: sslcert, key: sslkey } }),
  };
};
