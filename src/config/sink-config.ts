import { resolve } from 'node:path';
import { z } from 'zod';
import { isLoopback } from '../lib/ip-networks.ts';
import { hostOf } from '../lib/urls.ts';
import { parsedText } from './setting-types.ts';

const hasLogin = ({ username, password }: URL): boolean => username + password !== '';

/** Ports of RFC 5425 and of RFC 6587. */
const SYSLOG_PORTS = { 'syslog+tls:': 6514, 'syslog+tcp:': 601 };

const syslogUrl = parsedText((text, fail) => {
  const url = URL.parse(text);
  const { protocol } = url ?? {};
  if (!url || (protocol !== 'syslog+tls:' && protocol !== 'syslog+tcp:') || url.hostname === '')
    return fail('must be syslog+tls://HOST:PORT or syslog+tcp://HOST:PORT');
  if (hasLogin(url)) return fail('must not hold a user or a password: syslog has none');
  if (!/^\/?$/.test(url.pathname) || url.search + url.hash !== '')
    return fail('must end after the host and the port');
  return {
    host: hostOf(url),
    port: Number(url.port || SYSLOG_PORTS[protocol]),
    isEncrypted: protocol === 'syslog+tls:',
  };
});

const collectorUrl = parsedText((text, fail) => {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return fail('must be an https:// URL');
  if (hasLogin(url))
    return fail('must not hold a user or a password: set EVENT_HTTP_AUTHORIZATION_FILE to a file');
  if (url.protocol === 'http:' && !isLoopback(hostOf(url)))
    return fail('must be an https:// URL; http:// is for this machine only');
  return url.href;
});

const file = (description: string, defaultText = 'none') =>
  z
    .string()
    .transform((path) => resolve(path))
    .optional()
    .meta({ description, valueType: 'file', defaultText });

const SinkSettings = z.object({
  EVENT_FILE: file('File to which events are appended as lines of JSON: see [sinks.md](sinks.md#file)'),
  EVENT_SYSLOG_URL: syslogUrl.optional().meta({
    description: 'Syslog server to which events are sent: see [sinks.md](sinks.md#syslog)',
    valueType: '`syslog+tls://host:port` or `syslog+tcp://…`',
    defaultText: 'none',
  }),
  EVENT_HTTP_URL: collectorUrl.optional().meta({
    description: 'URL to which events are posted: see [sinks.md](sinks.md#https)',
    valueType: 'URL',
    defaultText: 'none',
  }),
  EVENT_HTTP_AUTHORIZATION_FILE: file(
    'File with the header `Authorization` for `EVENT_HTTP_URL`, such as `Bearer …`',
  ),
  EVENT_CA_FILE: file(
    'CA certificates of the syslog server and of `EVENT_HTTP_URL`',
    'those of Node and `NODE_EXTRA_CA_CERTS`',
  ),
  EVENT_CERTIFICATE_FILE: file('Client certificate for servers that require one, with `EVENT_KEY_FILE`'),
  EVENT_KEY_FILE: file('Key of the client certificate'),
  EVENT_START: z
    .enum(['oldest', 'newest'])
    .default('oldest')
    .describe('Whether a new sink begins with the oldest event that is kept, or after the newest'),
});

export const sinkSettings = SinkSettings.shape;

/** Files of certificates and keys; unset ones are absent. */
export type TlsFiles = Partial<Record<'ca' | 'certificate' | 'key', string | undefined>>;

export type SyslogServer = z.output<typeof syslogUrl>;

/** The destinations of the installation's events. */
export type SinkConfig = ReturnType<typeof sinkConfigOf>;

export const sinkConfigOf = (read: z.output<typeof SinkSettings>) => ({
  file: read.EVENT_FILE,
  syslog: read.EVENT_SYSLOG_URL,
  http: read.EVENT_HTTP_URL,
  httpAuthorizationFile: read.EVENT_HTTP_AUTHORIZATION_FILE,
  tls: { ca: read.EVENT_CA_FILE, certificate: read.EVENT_CERTIFICATE_FILE, key: read.EVENT_KEY_FILE },
  startsAt: read.EVENT_START,
});
