import type { Config } from '../config/config.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { createAudit, NO_ORIGIN } from '../services/audit/audit.ts';
import { createKeyRotation, createSigningKeys } from '../services/gate/signing-keys.ts';
import { withDatabase } from './database-work.ts';

type KeyRotation = ReturnType<typeof createKeyRotation>;

const withKeys = <T>(config: Config, work: (rotation: KeyRotation) => Promise<T>): Promise<T> =>
  withDatabase(config, async (orm, secretKey) => {
    // The times of keys are those of the database.
    const clock = await createDatabaseClock(orm.pool);
    const warnings: string[] = [];
    const logger = { warn: (line: string) => warnings.push(line) };
    const { signingKeyDays } = config;
    const signingKeys = createSigningKeys({ em: orm.em.fork(), secretKey, clock, logger, signingKeyDays });
    const audit = createAudit(NO_ORIGIN, clock);
    try {
      return await work(createKeyRotation({ em: orm.em.fork(), audit, signingKeys }));
    } finally {
      clock.stop();
      for (const line of warnings) process.stderr.write(`${line}\n`);
    }
  });

/** The keys, newest first. */
export const listKeys = (config: Config) =>
  withKeys(config, async (rotation) =>
    (await rotation.list()).map(({ id, state, created_at, signs_from }) => ({
      kid: id,
      state,
      created_at: created_at.toISOString(),
      signs_from: signs_from.toISOString(),
    })),
  );

/** A line for each key. */
export const formatKeys = (keys: Awaited<ReturnType<typeof listKeys>>): string =>
  keys
    .map(
      ({ kid, state, created_at, signs_from }) =>
        `${kid}  ${state.padEnd(10)}  created ${created_at}  signs from ${signs_from}\n`,
    )
    .join('');

/** @returns a line for the operator */
export const rotateKeys = (config: Config): Promise<string> =>
  withKeys(config, async (rotation) => {
    const { id, state, signs_from } = await rotation.rotate(null);
    const time = signs_from.toISOString();
    return state === 'signing' ? `${id} signs since ${time}.` : `${id} is published and signs from ${time}.`;
  });
