/** Where Debian installs it. */
export const PGBOUNCER = '/usr/sbin/pgbouncer';
