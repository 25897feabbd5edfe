import type { App } from '../app.ts';
import type { Config } from '../config/config.ts';
import { fillDemo, hasDemo, isEmpty, setOpenidApp } from './fill.ts';

/** Fills an empty database with the demo workspace, and its package store. @returns lines for the operator */
export const startDemo = async ({ orm, hasher, clock, store }: App, config: Config): Promise<string[]> => {
  // Packages first: if the start is interrupted in between, the database is still empty and the next start does both.
  if (await isEmpty(orm.em.fork())) {
    // Loaded only here: packing needs libraries for YAML and tar.
    const { publishDemoPackages } = await import('./packages.ts');
    await publishDemoPackages(store);
  }
  const isFilled = await fillDemo({
    em: orm.em.fork(),
    hasher,
    password: config.demoPassword,
    port: config.port,
    now: clock.now(),
    hasOrganization: true,
  });
  const isKept = !isFilled && (await hasDemo(orm.em.fork()));
  if (isFilled || isKept) await setOpenidApp(orm.em.fork(), config.baseUrl, clock.now());
  return demoNotice(config, isFilled ? 'this start' : isKept ? 'earlier start' : null);
};

/** One person of each role. */
const EXAMPLES = [
  ['root@steward.test', 'superuser'],
  ['admin@acme.test', 'client admin of Acme Analytics'],
  ['ada@acme.test', 'member of Acme Analytics'],
] as const;
const EMAIL_WIDTH = Math.max(...EXAMPLES.map(([email]) => email.length));

/**
 * The last lines that a start of the demo prints: the URL, and the logins. A password that the operator chose is not printed, because the
 * lines may be logged.
 * @param filledBy null: the database has other data
 */
const demoNotice = (config: Config, filledBy: 'this start' | 'earlier start' | null): string[] => {
  const { baseUrl, demoPassword, hasPublishedDemoPassword } = config;
  const again = config.database
    ? 'name an empty database in DATABASE_URL'
    : 'use another folder: DATA_DIR=.steward-demo npm run demo';
  if (filledBy === null)
    return [
      `The database is not empty: the demo workspace was not added. Log in at ${baseUrl}/console/ as before. To see the demo, ${again}`,
    ];
  const kept = `The demo workspace of an earlier start was kept, with its changes and its password. To start afresh, ${again}`;
  return [
    ...(filledBy === 'earlier start' ? [kept] : []),
    '',
    `  Console    ${baseUrl}/console/`,
    `  An app     ${baseUrl}/launch/sales/`,
    `  By OpenID  ${baseUrl}/demo-apps/pricing/`,
    `  API        ${baseUrl}/docs/`,
    `  Password   ${hasPublishedDemoPassword ? demoPassword : 'that of DEMO_PASSWORD'}, for each of:`,
    ...EXAMPLES.map(([email, role]) => `    ${email.padEnd(EMAIL_WIDTH)}   ${role}`),
    '',
  ];
};
