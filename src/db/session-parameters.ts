import pg from 'pg';
import type { Connection } from '../config/connection.ts';
import { SESSION_SETTINGS } from '../config/session-settings.ts';

/** Unix sockets have none of these, and a pooler has its own. */
const OF_TCP = /^tcp_/;

type Setting = { name: string; value: string; isSent: boolean };

/**
 * Warns where a connection pooler has dropped the startup options (PgBouncer's `ignore_startup_parameters`), and tells how to
 * store them for the role instead. Answers stay right without them, but waits would have no limits.
 */
export const warnOfLostSettings = async (
  pool: pg.Pool,
  { user, database }: Pick<Connection, 'user' | 'database'>,
  warn: (line: string) => void,
): Promise<void> => {
  const names = Object.keys(SESSION_SETTINGS).filter((name) => !OF_TCP.test(name));
  const client = await pool.connect();
  try {
    const { rows } = await client.query<Setting>(
      `select name, current_setting(name) as value, source = 'client' as "isSent" from pg_settings where name = any($1)`,
      [names],
    );
    const lost = rows.filter(({ name, value, isSent }) => !isSent && value !== SESSION_SETTINGS[name]);
    if (lost.length === 0) return;
    const role = `alter role ${pg.escapeIdentifier(user)} in database ${pg.escapeIdentifier(database)}`;
    const statements = lost.map(
      ({ name }) => `${role} set ${name} = ${pg.escapeLiteral(SESSION_SETTINGS[name] ?? '')};`,
    );
    warn(`The connection pooler drops startup options. Store them for the role: ${statements.join(' ')}`);
  } finally {
    client.release();
  }
};
