import { randomBytes } from 'node:crypto';
import { createApp } from './app.ts';
import type { Config } from './core/config.ts';
import { createLogger } from './core/logger.ts';
import { migrateDatabase } from './database.ts';
import { fillDemo, isEmpty } from './demo/fill.ts';
import { publishDemoPackages } from './demo/packages.ts';
import { listening, withFreeAddress } from './listening.ts';
import { createAudit, NO_ORIGIN } from './services/audit/audit.ts';
import { prepareFirstStart } from './services/people/first-start.ts';
import { openWorkplace } from './workplace.ts';

type App = Awaited<ReturnType<typeof createApp>>;

/** For people at a terminal; the log, for machines, is JSON on the same stream. */
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** How long running requests get to finish; past it the process ends all the same. */
const STOP_TIMEOUT_MS = 10_000;
const ECHO_MS = 1_000;

/** Runs the service until it is told to stop: settings → database → migrations → first start → listen. */
export const serve = async (settings: Config): Promise<void> => {
  const logger = createLogger(settings.logLevel);
  // A promise that nobody awaited is a bug of ours, and no reason to drop everybody's requests.
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'unhandled rejection'));
  // From the beginning: a container's first process would not hear a signal that it has no handler for.
  const signal = stopSignal();

  const place = await openWorkplace(settings);
  const closing = [place.stop];
  try {
    const config = await withFreeAddress(settings);
    await migrateDatabase(place.connection);
    const app = await createApp({ config, ...place, logger });
    closing.push(app.close);
    await (config.demo ? startDemo(app, config) : startFirst(app, config));
    await listening(app.server.listen({ port: config.port, host: config.host }));
    app.startWork();
    say(`Steward listens on ${config.baseUrl}`);

    const reason = await Promise.race([signal, place.lost.then(() => 'the embedded database ended')]);
    say(`Stopping: ${reason}`);
    if (!reason.startsWith('SIG')) process.exitCode = 1;
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref();
  } finally {
    for (const close of closing.reverse()) await close();
  }
};

/**
 * The first SIGTERM or SIGINT. One that comes later does not wait; one that comes at once is the same again: npm
 * hands on what the terminal or a supervisor has sent to the whole group already.
 */
const stopSignal = (): Promise<string> =>
  new Promise((resolve) => {
    let firstAt: number | undefined;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        firstAt ??= Date.now();
        if (Date.now() - firstAt > ECHO_MS) process.exit(130);
        resolve(signal);
      });
    }
  });

const startFirst = async ({ orm, hasher, clock }: App, config: Config): Promise<void> => {
  const password = config.adminPassword ?? randomBytes(12).toString('base64url');
  const { adminEmail } = config;
  const domain = new URL(config.baseUrl).host;
  const audit = createAudit(NO_ORIGIN, clock);
  const first = { domain, adminEmail, now: clock.now() };
  const isMade = await prepareFirstStart(orm.em.fork(), first, audit, () => hasher.hash(password));
  if (!isMade) return;
  say(`Made the first superuser: ${adminEmail}`);
  if (!config.adminPassword) say(`Its password, shown this once: ${password}`);
};

const startDemo = async (app: App, config: Config): Promise<void> => {
  const { orm, hasher, clock, store } = app;
  const password = config.demoPassword;
  // The packages first: a start that is cut short in between leaves the database empty, and the next one does both.
  if (await isEmpty(orm.em.fork())) await publishDemoPackages(store);
  const isFilled = await fillDemo({ em: orm.em.fork(), hasher, password, now: clock.now() });
  if (!isFilled) return say('The database is not empty: it is served as it is, without the demo workspace.');
  say('Filled the demo workspace. Log in as root@steward.test, admin@acme.test or ada@acme.test.');
};
