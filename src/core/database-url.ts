import type { Connection } from './connection.ts';

/**
 * Reads `postgres://user:password@host:port/database`; a `?host=/folder` names a Unix socket.
 * @throws TypeError when it is no such URL; the message never repeats the URL, which holds a password
 */
export const parseDatabaseUrl = (url: string): Connection => {
  // For sockets libpq leaves the host out, which a URL with a user may not.
  const complete = url.replace('@/', '@localhost/');
  if (!URL.canParse(complete))
    throw new TypeError('must have the form postgres://user:password@host/database');
  const parsed = new URL(complete);
  if (!/^postgres(ql)?:$/.test(parsed.protocol)) throw new TypeError('must start with postgres://');
  const database = decodeURIComponent(parsed.pathname.slice(1));
  if (database === '') throw new TypeError('must end in the name of a database');

  return {
    host: parsed.searchParams.get('host') ?? decodeURIComponent(parsed.hostname || 'localhost'),
    port: Number(parsed.port || 5432),
    user: decodeURIComponent(parsed.username || 'postgres'),
    password: decodeURIComponent(parsed.password),
    database,
  };
};
