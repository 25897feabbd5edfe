/** Where a PostgreSQL database is and how to log in; `host` may be the directory of a Unix socket. */
export type Connection = { host: string; port: number; user: string; password: string; database: string };
