import { randomBytes } from 'node:crypto';
import { type App, createApp } from '../app.ts';
import type { Config } from '../config/config.ts';
import { migrateDatabase } from '../db/database.ts';
import { createOperatorOutput } from '../lib/console-output.ts';
import type { ShutdownSteps } from '../lib/graceful-shutdown.ts';
import type { Logger } from '../lib/logger.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';
import { bootstrap } from '../services/users/bootstrap.ts';
import type { DatabaseHost } from './database-host.ts';
import { wrapListenError } from './listen.ts';

type Deps = { config: Config; place: Pick<DatabaseHost, 'connection' | 'secretKey'>; logger: Logger };

/** Connections that wait to be accepted. With Node's 511, a thousand clients that connect at once wait seconds for a retry. */
const BACKLOG = 4096;

/** Migrations → first start → listen. Returns how it is stopped. */
export const startServer = async ({ config, place, logger }: Deps): Promise<ShutdownSteps> => {
  await migrateDatabase(place.connection);
  const app = await createApp({ config, ...place, logger });
  try {
    await (config.demo ? startDemo(app, config, logger) : startFirst(app, config, logger));
    const { port, host } = config;
    await wrapListenError(app.server.listen({ port, host, backlog: BACKLOG }));
  } catch (error) {
    await app.close();
    throw error;
  }
  app.startWork();
  return {
    announce: app.announceStop,
    hold: app.holdRequests,
    hasConnections: app.hasConnections,
    close: app.close,
  };
};

const startFirst = async ({ orm, hasher, clock }: App, config: Config, logger: Logger): Promise<void> => {
  const { printLine, printSecret } = createOperatorOutput(logger);
  const password = config.adminPassword ?? randomBytes(12).toString('base64url');
  const { adminEmail } = config;
  const domain = new URL(config.baseUrl).host;
  const audit = createAudit(NO_ORIGIN, clock);
  const first = { domain, adminEmail, now: clock.now() };
  const isMade = await bootstrap(orm.em.fork(), first, audit, () => hasher.hash(password));
  if (!isMade) return;
  printLine(`Made the first superuser: ${adminEmail}`);
  if (!config.adminPassword) printSecret(`Its password, shown this once: ${password}`);
};

const startDemo = async (app: App, config: Config, logger: Logger): Promise<void> => {
  const { printLine } = createOperatorOutput(logger);
  const { orm, hasher, clock } = app;
  const password = config.demoPassword;
  const { fillDemo, isEmpty } = await import('../demo/fill.ts');
  // The packages first: a start that is cut short in between leaves the database empty, and the next one does both.
  if (await isEmpty(orm.em.fork())) await publishDemoPackages(app);
  const isFilled = await fillDemo({
    em: orm.em.fork(),
    hasher,
    password,
    port: config.port,
    now: clock.now(),
  });
  if (!isFilled)
    return printLine('The database is not empty: it is served as it is, without the demo workspace.');
  printLine('Filled the demo workspace. Log in as root@steward.test, admin@acme.test or ada@acme.test.');
};

/** Loaded for an empty database alone: packing needs a library for YAML and one for tar. */
const publishDemoPackages = async ({ store }: App): Promise<void> =>
  (await import('../demo/packages.ts')).publishDemoPackages(store);
