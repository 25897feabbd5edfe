export type HostAddress = {
  /** A name, an address, or the directory of a Unix socket. */
  host: string;
  port: number;
};

/** As libpq's `sslmode`. Modes that may connect without TLS are settled before the first connection. */
export type DatabaseTls = {
  mode: 'prefer' | 'require' | 'verify-ca' | 'verify-full';
  /** The file of the certificates to trust, or `system` for those of the operating system. */
  rootCertificate?: string;
  /** Files of the certificate and key that prove this client. */
  client?: { certificate: string; key: string };
};

/** Where a PostgreSQL database is and how to log in. Plain data: worker processes receive it as JSON. */
export type Connection = HostAddress & {
  /** Tried in this order where `host` cannot be used. */
  fallbackHosts?: HostAddress[];
  user: string;
  password: string;
  database: string;
  /** Absent: no TLS. */
  tls?: DatabaseTls;
  /** Which of the hosts can be used; absent: any that accepts the login. */
  targetSession?: 'read-write' | 'primary';
  /** Absent: steward. */
  applicationName?: string;
  /** For each host; absent: 5 s. */
  connectTimeoutMs?: number;
  /** Startup options for the server, such as `-c work_mem=8MB`. */
  startupOptions?: string;
  /** false where a pooler in between cannot keep statements by their names. */
  preparesStatements?: boolean;
  /** Connections that a pool may have; absent: 10. */
  poolSize?: number;
};
