import { startEmbeddedPostgres } from './adapters/embedded-postgres.ts';
import { keptSecretKey } from './adapters/secret-key.ts';
import type { Config } from './core/config.ts';
import type { Connection } from './core/connection.ts';

/** The database that the settings name, started if it is the embedded one, and the key that goes with it. */
export type Workplace = {
  connection: Connection;
  secretKey: string;
  stop: () => Promise<void>;
  /** Resolves should the embedded server end by itself. */
  lost: Promise<unknown>;
};

const NEVER = new Promise<never>(() => {});

export const openWorkplace = async (config: Config): Promise<Workplace> => {
  if (config.database) {
    // The settings were refused unless a key goes with a database of one's own.
    return {
      connection: config.database,
      secretKey: config.secretKey ?? '',
      stop: async () => {},
      lost: NEVER,
    };
  }
  const { connection, stop, exited } = await startEmbeddedPostgres({ dataDir: config.dataDir });
  const secretKey = config.secretKey ?? (await keptSecretKey(config.dataDir));
  return { connection, secretKey, stop, lost: exited };
};

/** Opens the workplace for one piece of work, and closes it whatever comes of it. */
export const inWorkplace = async <T>(config: Config, work: (place: Workplace) => Promise<T>): Promise<T> => {
  const place = await openWorkplace(config);
  try {
    return await work(place);
  } finally {
    await place.stop();
  }
};
