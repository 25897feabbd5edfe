import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, stat, writeFile } from 'node:fs/promises';
import { Client } from 'pg';
import type { Connection } from '../../src/config/connection.ts';
import { freePort } from './free-port.ts';
import { until } from './poll.ts';
import { PGBOUNCER } from './programs.ts';
import { makeScratchFolder } from './scratch-folder.ts';

const IMPATIENT = { connectionTimeoutMillis: 2_000 };

/** Debian's PgBouncer in transaction mode, with so few server connections that clients must share them. */
export const startPgBouncer = async ({ host, port: serverPort, user, password }: Connection) => {
  const folder = await makeScratchFolder();
  const port = await freePort();
  await writeFile(folder.join('users.txt'), `"${user}" "${password}"\n`);
  await writeFile(
    folder.join('pgbouncer.ini'),
    `[databases]
* = host=${host} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${folder.join('users.txt')}
pool_mode = transaction
default_pool_size = 3
max_client_conn = 500
ignore_startup_parameters = options
`,
  );
  // PgBouncer refuses to run as root, and only the owner of the socket may connect to the server.
  const { uid, gid } = await stat(host);
  if (process.getuid?.() === 0)
    for (const file of ['.', 'users.txt', 'pgbouncer.ini']) await chown(folder.join(file), uid, gid);
  const child = spawn(PGBOUNCER, ['-q', folder.join('pgbouncer.ini')], {
    ...(process.getuid?.() === 0 && { uid, gid }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const ended = once(child, 'exit');
  const answers = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`PgBouncer has ended:\n${log}`);
    const client = new Client({
      host: '127.0.0.1',
      port,
      user,
      password,
      database: 'postgres',
      ...IMPATIENT,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end();
    }
  };
  await until('PgBouncer answers', answers);

  return {
    port,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      child.kill('SIGKILL');
      await ended;
      await folder[Symbol.asyncDispose]();
    },
  };
};
