import type { Config } from '../config/config.ts';

/** One of each role. */
const EXAMPLES = [
  ['root@steward.test', 'superuser'],
  ['admin@acme.test', 'client admin of Acme Analytics'],
  ['ada@acme.test', 'member of Acme Analytics'],
] as const;
const EMAIL_WIDTH = Math.max(...EXAMPLES.map(([email]) => email.length));

type Demo = {
  config: Pick<Config, 'baseUrl' | 'database' | 'demoPassword' | 'hasPublishedDemoPassword'>;
  /** Whether this start has filled the database, or an earlier one, or the database has other data. */
  filledBy: 'this start' | 'earlier start' | null;
};

/**
 * The lines that a start of the demo ends with: where to go, and as whom to log in. A password of the operator's choice is
 * not among them, because the lines may be logged.
 */
export const demoNotice = ({ config, filledBy }: Demo): string[] => {
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
    `  API        ${baseUrl}/docs/`,
    `  Password   ${hasPublishedDemoPassword ? demoPassword : 'that of DEMO_PASSWORD'}, for each of:`,
    ...EXAMPLES.map(([email, role]) => `    ${email.padEnd(EMAIL_WIDTH)}   ${role}`),
    '',
  ];
};
