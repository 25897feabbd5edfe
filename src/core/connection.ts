/** Where a PostgreSQL database is and how to log in; `host` may be the directory of a Unix socket. */
export type Connection = {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /** false where a pooler in between cannot keep statements by their names. */
  preparesStatements?: boolean;
  /** Connections that a pool may have; absent: 10. */
  poolSize?: number;
};
