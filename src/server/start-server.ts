import { randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { Registry } from 'prom-client';
import manifest from '../../package.json' with { type: 'json' };
import { loadCommonPasswords } from '../adapters/hashing/common-passwords.ts';
import type { Tracing } from '../adapters/opentelemetry/start-tracing.ts';
import { type App, createApp } from '../app.ts';
import type { Config } from '../config/config.ts';
import { compareMigrations, migrateDatabase, readSchemaState } from '../db/migrate.ts';
import type { ShutdownSteps } from '../lib/graceful-shutdown.ts';
import { createOperatorOutput, type Logger } from '../lib/logger.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';
import { bootstrap, rejectWeakAdminPassword } from '../services/users/bootstrap.ts';
import { type DatabaseHost, nameFullDisk } from './database-host.ts';
import { wrapListenError } from './listen.ts';

export type ServerDeps = {
  config: Config;
  host: Pick<DatabaseHost, 'connection' | 'secretKey'>;
  logger: Logger;
};

/** With Node's default of 511, a thousand clients that connect at the same time would wait seconds for a retry. */
const BACKLOG = 4096;

type StartedServer = ShutdownSteps & {
  /** Null if METRICS_PORT is 0. */
  metrics: Registry | null;
  /** Lines for the operator, printed after all other lines of a start. */
  notice: string[];
};

/** Migrates, creates the first superuser or the demo data, and listens. */
export const startServer = (deps: ServerDeps): Promise<StartedServer> =>
  start(deps).catch(async (error: unknown) => {
    throw await nameFullDisk(error, deps.config);
  });

const start = async ({ config: settings, host, logger }: ServerDeps): Promise<StartedServer> => {
  await migrateDatabase(host.connection);
  const demoApps = settings.demo ? await import('../demo/demo-apps.ts') : null;
  const config = demoApps?.withDemoAppUrl(settings) ?? settings;
  const app = await createApp({ config, ...host, logger });
  let metrics: Registry | null = null;
  let traces: Tracing | null = null;
  const notice: string[] = [];
  const close = async (): Promise<void> => {
    await app.close();
    await traces?.stop();
  };
  try {
    traces = await startTraces(config, logger);
    demoApps?.serveDemoApps(app.server, {
      issuer: config.baseUrl,
      steward: localUrl(config),
      store: config.appStore,
    });
    notice.push(...(await describeNewerSchema(app)));
    if (config.demo) {
      const { startDemo } = await import('../demo/start-demo.ts');
      notice.push(...(await startDemo(app, config)));
    } else await bootstrapAdmin(app, config, logger);
    const { port, host } = config;
    // Loaded only if needed: the package takes 20 MB and 40 ms.
    if (config.metricsPort > 0) metrics = (await import('./metrics.ts')).collectMetrics(app);
    await wrapListenError(app.server.listen({ port, host, backlog: BACKLOG }));
  } catch (error) {
    await close();
    throw error;
  }
  app.startBackgroundWork();
  return { ...app, close, metrics, notice };
};

/** The URL at which this process reaches itself, even behind a proxy. */
const localUrl = ({ host, port }: Config): string => `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;

/** A notice for a version that was started again after an upgrade. */
const describeNewerSchema = async ({ orm }: App): Promise<string[]> => {
  const client = await orm.pool.connect();
  const { applied } = await readSchemaState(client).finally(() => client.release());
  const newer = compareMigrations(applied ?? []).unknown;
  if (newer.length === 0) return [];
  return [
    `A newer version of Steward has migrated this database: it applied ${newer.join(', ')}. Only the version before that one works with it. If Steward ${manifest.version} is older, stop it: see docs/upgrades.md.`,
  ];
};

/** The packages are loaded only if traces are on. */
const startTraces = async ({ tracing: config }: Config, logger: Logger) => {
  if (!config) return null;
  const { startTracing } = await import('../adapters/opentelemetry/start-tracing.ts');
  return startTracing({ config, version: manifest.version, logger });
};

const bootstrapAdmin = async ({ orm, hasher, clock }: App, config: Config, logger: Logger): Promise<void> => {
  const { printLine, printSecret } = createOperatorOutput(logger, { format: config.logFormat });
  const password = config.adminPassword ?? randomBytes(12).toString('base64url');
  const { adminEmail } = config;
  const domain = new URL(config.baseUrl).host;
  const audit = createAudit(NO_ORIGIN, clock);
  const first = { domain, adminEmail, now: clock.now() };
  const isCreated = await bootstrap(orm.em.fork(), first, audit, async () => {
    if (config.adminPassword)
      rejectWeakAdminPassword(adminEmail, password, {
        commonPasswords: await loadCommonPasswords(),
        passwordMinLength: config.passwordMinLength,
      });
    return hasher.hash(password);
  });
  if (!isCreated) return;
  printLine(`Created the first superuser: ${adminEmail}`);
  if (!config.adminPassword) printSecret(`Password (shown only once): ${password}`);
};
