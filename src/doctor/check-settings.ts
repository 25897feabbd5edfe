import { availableParallelism } from 'node:os';
import type { Config } from '../config/config.ts';
import { isLoopback } from '../lib/ip-networks.ts';
import { ok, type Result, warning } from './finding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Looks for settings that contradict each other. */
export const checkSettings = (config: Config, env: Environment): Result[] => {
  const found = contradictions(config, env);
  return found.length > 0 ? found : [ok('All settings are valid and consistent.')];
};

type Rule = { applies: boolean; message: string; action: string };

const contradictions = (config: Config, env: Environment): Result[] =>
  [...addressRules(config, env), ...deploymentRules(config, env), ...uselessSettings(config, env)]
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
  { demo, database, environment, mailServerUrl, workers, sinks }: Config,
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
    applies: workers > availableParallelism(),
    message: `WORKERS=${workers} is more than the ${availableParallelism()} cores of this machine.`,
    action: 'Lower WORKERS: see docs/workers.md.',
  },
];

const uselessSettings = (config: Config, env: Environment): Rule[] => {
  const { mailServerUrl, metricsPort, demo, appStore, port, metricsHost, host, sinks } = config;
  const hasSinks = [sinks.file, sinks.syslog, sinks.http].some(Boolean);
  const without = (name: string, isUsed: boolean | undefined, needed: string): Rule => ({
    applies: !!env[name] && !isUsed,
    message: `${name} has no effect without ${needed}.`,
    action: `Set ${needed}, or remove ${name}.`,
  });
  const isBucket = appStore.kind === 's3';
  return [
    without('MAIL_PER_MINUTE', mailServerUrl !== undefined, 'SMTP_URL'),
    without('METRICS_HOST', metricsPort > 0, 'METRICS_PORT'),
    without('METRICS_TOKEN', metricsPort > 0, 'METRICS_PORT'),
    without('DEMO_PASSWORD', demo, 'DEMO=1'),
    without('EVENT_START', hasSinks, 'EVENT_FILE, EVENT_SYSLOG_URL or EVENT_HTTP_URL'),
    without('EVENT_HTTP_AUTHORIZATION_FILE', sinks.http !== undefined, 'EVENT_HTTP_URL'),
    ...['EVENT_CA_FILE', 'EVENT_CERTIFICATE_FILE'].map((name) =>
      without(name, sinks.syslog?.isEncrypted || /^https:/.test(sinks.http ?? ''), 'a sink with TLS'),
    ),
    ...['APP_STORE_ENDPOINT', 'APP_STORE_REGION', 'APP_STORE_PATH_STYLE'].map((name) =>
      without(name, isBucket, 'a bucket as APP_STORE'),
    ),
    {
      applies: metricsPort > 0 && metricsPort === port && metricsHost === host,
      message: `METRICS_PORT and PORT are both ${port}.`,
      action: 'Set another METRICS_PORT: the service cannot listen twice on one port.',
    },
  ];
};
