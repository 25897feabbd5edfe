import type { Config } from '../config/config.ts';
import { isLoopback } from '../lib/ip-networks.ts';
import { ok, type Result, warning } from './finding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Looks for settings that contradict each other, or are unsafe. */
export const checkSettings = (config: Config, env: Environment): Result[] => {
  const found = contradictions(config, env);
  return found.length > 0 ? found : [ok('All settings are valid and consistent.')];
};

type Rule = { applies: boolean; message: string; action: string };

const contradictions = (config: Config, env: Environment): Result[] =>
  [...addressRules(config, env), ...deploymentRules(config, env)]
    .filter(({ applies }) => applies)
    .map(({ message, action }) => warning(message, action));

const addressRules = (config: Config, env: Environment): Rule[] => {
  const { baseUrl, host, trustedProxies, metricsPort, metricsHost, metricsToken } = config;
  const { protocol, hostname } = new URL(baseUrl);
  const isHttps = protocol === 'https:';
  return [
    {
      applies: isHttps && trustedProxies === 0,
      message: 'BASE_URL is https, so a proxy is in front, but TRUST_PROXY is not set.',
      action:
        'Set TRUST_PROXY: otherwise all anonymous callers share the rate limits of the proxy’s address.',
    },
    {
      // Browsers resolve names under localhost to this machine, as for the sites of the demo.
      applies: !isHttps && !isLoopback(hostname) && !hostname.endsWith('.localhost'),
      message: 'BASE_URL is http: passwords and tokens travel in clear text.',
      action: 'Put a proxy with TLS in front, and set BASE_URL to its https:// URL.',
    },
    {
      applies: !env.BASE_URL && !isLoopback(host),
      message: `HOST ${host} is open to other machines, but BASE_URL is not set: links in mails lead to localhost.`,
      action: 'Set BASE_URL to the public address.',
    },
    {
      applies: metricsPort > 0 && metricsToken === undefined && !isLoopback(metricsHost),
      message: `METRICS_HOST ${metricsHost} is open to other machines, and the metrics need no credentials.`,
      action: 'Set METRICS_TOKEN, or let a firewall admit only Prometheus.',
    },
  ];
};

const deploymentRules = (
  { demo, database, environment, mailServerUrl, backup, sinks }: Config,
  env: Environment,
): Rule[] => [
  {
    applies: demo && (database !== undefined || environment === 'production'),
    message: 'DEMO=1 fills an empty database with users whose password is known.',
    action: 'Remove DEMO for production.',
  },
  {
    applies: mailServerUrl !== undefined && !env.MAIL_FROM && !env.BASE_URL,
    message: 'Mails are sent from steward@localhost, which most mail servers refuse.',
    action: 'Set MAIL_FROM.',
  },
  {
    applies: sinks.syslog !== undefined && !sinks.syslog.isEncrypted && !isLoopback(sinks.syslog.host),
    message: 'EVENT_SYSLOG_URL is syslog+tcp: events travel in clear text.',
    action: 'Use syslog+tls, and set EVENT_CA_FILE if your own authority issued the certificate.',
  },
  {
    applies: backup.target === null || backup.intervalHours === null,
    message: 'No backups are scheduled.',
    action: 'Set BACKUP_TARGET: see docs/backup.md.',
  },
];
