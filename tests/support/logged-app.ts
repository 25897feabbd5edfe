import { createApp } from '../../src/app.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { SECRET_KEY, type TestApp } from './test-app.ts';

type Options = { level?: 'trace' | 'info'; hasTraces?: boolean };

/** Another instance on the database of the app, and the entries of its log. The caller closes it. */
export const startLogged = async (
  { config, connection, clock }: TestApp,
  { level = 'info', hasTraces = false }: Options = {},
) => {
  const lines: string[] = [];
  const logger = createLogger(level, { destination: { write: (line) => lines.push(line) }, hasTraces });
  const logged = await createApp({ config, connection, clock, logger, secretKey: SECRET_KEY });
  return {
    logged,
    lines,
    entries: (message?: string) =>
      lines.map((line) => JSON.parse(line)).filter(({ msg }) => message === undefined || msg === message),
  };
};
