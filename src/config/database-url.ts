import type { Connection, HostAddress } from './connection.ts';
import { parseDatabaseParameters, sessionParametersOf, tlsOf } from './database-parameters.ts';

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
  const authorityHosts = readAuthority(authority);
  const parameters = parseDatabaseParameters(readQuery(query));
  const [host, ...fallbackHosts] = hostsOf(authorityHosts, parameters);
  const [user = '', ...password] = login.split(':');
  const database = parameters.dbname ?? decode(path);
  if (database === '') throw new TypeError('must end in the name of a database');

  const areSockets = [host, ...fallbackHosts].map((each) => each.host.startsWith('/'));
  if (fallbackHosts.length > 0 && areSockets.includes(true))
    throw new TypeError('can name one Unix socket, or several hosts');
  const tls = tlsOf(parameters);
  return {
    ...host,
    ...(fallbackHosts.length > 0 && { fallbackHosts }),
    user: parameters.user ?? (decode(user) || 'postgres'),
    password: parameters.password ?? decode(password.join(':')),
    database,
    // A Unix socket has no TLS, as in libpq.
    ...(tls && !areSockets.includes(true) && { tls }),
    ...sessionParametersOf(parameters),
  };
};

type Lists = { hosts: string[]; ports: string[] };

const readAuthority = (authority: string): Lists => {
  const parsed = authority.split(',').map((part) => {
    const [, host = '', port = ''] = HOST.exec(part) ?? [];
    if (HOST.test(part) && /^\d*$/.test(port)) return { host: decode(host.replace(/^\[|\]$/g, '')), port };
    throw new TypeError(
      `${MALFORMED}; a port must be a number, and / ? # @ : within the password must be percent-encoded`,
    );
  });
  return { hosts: parsed.map(({ host }) => host), ports: parsed.map(({ port }) => port) };
};

/** `?host=` and `?port=` take precedence over the authority. A single port applies to all hosts. */
const hostsOf = (
  { hosts, ports }: Lists,
  parameters: { host?: string | undefined; port?: string | undefined },
): [HostAddress, ...HostAddress[]] => {
  const names = parameters.host?.split(',') ?? hosts;
  const given = parameters.port?.split(',') ?? ports;
  if (given.length !== 1 && given.length !== names.length)
    throw new TypeError('must have one port, or one for each host');
  const [first = DEFAULT_HOST, ...others] = names;
  const at = (name: string, index: number): HostAddress => ({
    host: name || DEFAULT_HOST,
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
