/** `mode` as libpq's `sslmode`. `prefer` is resolved before the first connection. */
export type DatabaseTls = {
  mode: 'prefer' | 'require' | 'verify-ca' | 'verify-full';
  /** A file of trusted certificates, or `system` for the certificates of the operating system. */
  rootCertificate?: string;
  /** Files of the client certificate and its key. */
  client?: { certificate: string; key: string };
};

/** Address and login of a PostgreSQL database. Plain data: worker processes receive it as JSON. */
export type Connection = {
  /** A name, an address, or the directory of a Unix socket. */
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /** Absent: no TLS. */
  tls?: DatabaseTls;
  /** Absent: steward. */
  applicationName?: string;
  /** Absent: 5 s. */
  connectTimeoutMs?: number;
  /** Startup options for the server, such as `-c work_mem=8MB`. */
  startupOptions?: string;
  /** false for a pooler that does not support named statements. */
  preparesStatements?: boolean;
  /** Absent: 10. */
  poolSize?: number;
};
