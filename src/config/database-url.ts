import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { z } from 'zod';
import { causeInWords } from '../lib/errno.ts';
import { withoutBrackets } from '../lib/urls.ts';
import type { Connection, DatabaseTls, HostAddress } from './connection.ts';

const SCHEME = /^postgres(ql)?:\/\//;
const FORM = /^[^:]+:\/\/(?:([^/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
/** A name, an address, or an IPv6 address in brackets; then the port. */
const HOST = /^(\[[\da-fA-F:.%]+\]|[^:[\]]*)(?::(.*))?$/;
const DEFAULT_PORT = 5432;
const DEFAULT_HOST = 'localhost';
const MALFORMED = 'must have the form postgres://user:password@host/database';

/**
 * Reads `postgres://user:password@host:port,host:port/database?parameters` as libpq does (PostgreSQL's documentation, 34.1.1).
 * @throws TypeError if it is invalid; the message never contains the URL, because it contains a password
 */
export const parseDatabaseUrl = (url: string): Connection => {
  if (!SCHEME.test(url)) throw new TypeError('must start with postgres://');
  const parts = FORM.exec(url);
  if (!parts) throw new TypeError(MALFORMED);
  const [, login = '', authority = '', path = '', query = ''] = parts;
  const hosts = readAuthority(authority);
  const parameters = parseDatabaseParameters(readQuery(query));
  const [host, ...fallbackHosts] = hostsOf(hosts, parameters);
  const [user = '', ...password] = login.split(':');
  const database = parameters.dbname ?? decode(path);
  if (database === '') throw new TypeError('must end in the name of a database');

  const areSockets = [host, ...fallbackHosts].map((each) => each.host.startsWith('/'));
  if (fallbackHosts.length > 0 && areSockets.includes(true))
    throw new TypeError('can name one Unix socket, or several hosts');
  const tls = tlsOf(parameters);
  const target = parameters.target_session_attrs;
  return {
    ...host,
    ...(fallbackHosts.length > 0 && { fallbackHosts }),
    user: parameters.user ?? (decode(user) || 'postgres'),
    password: parameters.password ?? decode(password.join(':')),
    database,
    // A Unix socket has no TLS, as in libpq.
    ...(tls && !areSockets.includes(true) && { tls }),
    ...(target !== undefined && target !== 'any' && { targetSession: target }),
    ...(parameters.application_name !== undefined && { applicationName: parameters.application_name }),
    ...(parameters.connect_timeout !== undefined && { connectTimeoutMs: parameters.connect_timeout * 1000 }),
    ...(parameters.options !== undefined && { startupOptions: parameters.options }),
  };
};

const readAuthority = (authority: string) =>
  authority.split(',').map((part) => {
    const [, host = '', port = ''] = HOST.exec(part) ?? [];
    if (HOST.test(part) && /^\d*$/.test(port)) return { host: decode(withoutBrackets(host)), port };
    throw new TypeError(
      `${MALFORMED}; a port must be a number, and / ? # @ : within the password must be percent-encoded`,
    );
  });

/** `?host=` and `?port=` take precedence over the authority. A single port applies to all hosts. */
const hostsOf = (
  authority: ReturnType<typeof readAuthority>,
  parameters: DatabaseParameters,
): [HostAddress, ...HostAddress[]] => {
  const names = parameters.host?.split(',') ?? authority.map(({ host }) => host);
  const given = parameters.port?.split(',') ?? authority.map(({ port }) => port);
  if (given.length !== 1 && given.length !== names.length)
    throw new TypeError('must have one port, or one for each host');
  const [first = DEFAULT_HOST, ...others] = names;
  const at = (name: string, index: number): HostAddress => ({
    host: withoutBrackets(name) || DEFAULT_HOST,
    port: portOf((given.length === 1 ? given[0] : given[index]) ?? ''),
  });
  return [at(first, 0), ...others.map((name, index) => at(name, index + 1))];
};

const portOf = (text: string): number => {
  const port = Number(text || DEFAULT_PORT);
  if (!/^\d*$/.test(text) || port < 1 || port > 65_535) throw new TypeError('port must be 1 to 65535');
  return port;
};

/** Not URLSearchParams, which reads a plus sign as a space. */
const readQuery = (query: string): Record<string, string> => {
  const given = new Map<string, string>();
  for (const pair of query.split('&').filter((part) => part !== '')) {
    const [name = '', ...value] = pair.split('=');
    const key = decode(name);
    if (given.has(key)) throw new TypeError(`has the parameter ${key} twice`);
    given.set(key, decode(value.join('=')));
  }
  return Object.fromEntries(given);
};

const decode = (text: string): string => {
  try {
    const decoded = decodeURIComponent(text);
    if (!decoded.includes('\0')) return decoded;
  } catch {
    // The error below does not contain the text.
  }
  throw new TypeError('must be correctly percent-encoded, and without %00');
};

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

type DatabaseParameters = z.infer<typeof Parameters>;

/** @throws TypeError that names each parameter that is unknown or has a wrong value; values are not repeated */
const parseDatabaseParameters = (given: Record<string, string>): DatabaseParameters => {
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
    throw new TypeError(`${name} cannot be read (${causeInWords(cause) ?? 'unknown error'})`, { cause });
  }
};

const check = (message: string, work: () => unknown): void => {
  try {
    work();
  } catch (cause) {
    throw new TypeError(message, { cause });
  }
};
