import type { Config } from '../config/config.ts';

/** One of each role. */
const EXAMPLES = [
  ['root@steward.test', 'superuser'],
  ['admin@acme.test', 'client admin of Acme Analytics'],
  ['ada@acme.test', 'member of Acme Analytics'],
] as const;
const EMAIL_WIDTH = Math.max(...EXAMPLES.map(([email]) => email.length));

type Demo = {
  config: Pick<Config, 'baseUrl' | 'demoPassword' | 'hasPublishedDemoPassword'>;
  /** False if the database was not empty. */
  isFilled: boolean;
};

/**
 * The lines that a start of the demo ends with: where to go, and as whom to log in. A password of the operator's choice is
 * not among them, because the lines may be logged.
 */
export const demoNotice = ({ config, isFilled }: Demo): string[] => {
  const { baseUrl, demoPassword, hasPublishedDemoPassword } = config;
  if (!isFilled) return ['The database is not empty: the demo workspace was not added.'];
  return [
    '',
    `  Console    ${baseUrl}/console/`,
    `  An app     ${baseUrl}/launch/sales/`,
    `  API        ${baseUrl}/docs/`,
    `  Password   ${hasPublishedDemoPassword ? demoPassword : 'that of DEMO_PASSWORD'}, for each of:`,
    ...EXAMPLES.map(([email, role]) => `    ${email.padEnd(EMAIL_WIDTH)}   ${role}`),
    '',
  ];
};
