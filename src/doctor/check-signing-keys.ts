import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { readSecretFile, SecretFileError } from '../config/secret-file.ts';
import type { Db } from '../db/kysely.ts';
import { createKeyVault, rateKeys, readSigningKeys } from '../services/gate/signing-keys.ts';
import type { Finding } from './finding.ts';
import { judgeSigningKeys } from './signing-key-findings.ts';

/** @param now by the clock of the database, which the times of keys are from */
export const checkSigningKeys = async (em: Db, config: Config, now: Date): Promise<Finding[]> => {
  const secretKey = config.secretKey ?? (await readSecretKey(config.dataDir));
  if (secretKey === null) return [];
  const vault = createKeyVault(secretKey, { warn: () => {} });
  const keys = rateKeys(await readSigningKeys(em), now, vault.canOpen);
  return [judgeSigningKeys(keys, now, config.signingKeyDays)];
};

/** Null if it is missing or cannot be used, which the check of the secret key reports. */
const readSecretKey = async (dataDir: string): Promise<string | null> => {
  try {
    return await readSecretFile(join(dataDir, 'secret-key'), '');
  } catch (error) {
    if (error instanceof SecretFileError) return null;
    throw error;
  }
};
