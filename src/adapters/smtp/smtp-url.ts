export type SmtpServer = {
  host: string;
  /** Absent: 465 for `smtps:`, else 587 (RFC 8314 §3.3). */
  port: number | undefined;
  /** TLS from the first byte; otherwise by STARTTLS, where the server offers it. */
  isSecure: boolean;
  login: { user: string; password: string } | null;
};

/** Reads `smtp://user:password@host:port`; user and password are percent-encoded there. */
export const readSmtpUrl = (url: string): SmtpServer => {
  const { protocol, hostname, port, username, password } = new URL(url);
  return {
    // An IPv6 address stands in brackets in a URL only.
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? undefined : Number(port),
    isSecure: protocol === 'smtps:',
    login:
      username === '' ? null : { user: decodeURIComponent(username), password: decodeURIComponent(password) },
  };
};
