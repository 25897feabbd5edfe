import { join } from 'node:path';
import { createPasswordHasher } from '../adapters/hashing/password-hasher.ts';
import type { Config } from '../config/config.ts';
import { readSecretFile, SecretFileError } from '../config/secret-file.ts';
import { PUBLISHED_DEMO_PASSWORD } from '../config/settings.ts';
import { type Em, kysely } from '../db/kysely.ts';
import { countUnreadableFactors } from '../services/auth/one-time-codes.ts';
import { readSigningKeys } from '../services/gate/signing-keys.ts';
import { countUnreadableConnections } from '../services/sso/connections.ts';
import { countUnreadableWebhooks } from '../services/webhooks/webhooks.ts';
import { type Finding, findingsOf, ok, type Result, warning } from './finding.ts';

/** Looks for secrets that cannot be decrypted, and for accounts that must not exist. */
export const checkServiceData = async (em: Em, config: Config): Promise<Finding[]> => [
  ...(await checkSecrets(em, config)),
  ...findingsOf('demo accounts', await checkDemoAccounts(em, config.argon2Concurrency)),
];

const checkSecrets = async (em: Em, config: Config): Promise<Finding[]> => {
  const secretKey = config.secretKey ?? (await readSecretKey(config.dataDir));
  if (secretKey === null) return [];
  const findings: Result[] = [];
  for (const [what, count, otherwise] of SEALED) {
    const unreadable = await count(em, secretKey);
    if (unreadable === 0) continue;
    const message = `${what} that SECRET_KEY does not decrypt: ${unreadable}.`;
    findings.push(warning(message, `Restore the SECRET_KEY that they were stored with${otherwise}`));
  }
  return findingsOf('stored secrets', findings.length > 0 ? findings : ok('SECRET_KEY decrypts them.'));
};

const countUnreadableKeys = async (em: Em, secretKey: string): Promise<number> =>
  (await readSigningKeys(em, secretKey)).filter(({ privateKey }) => privateKey === null).length;

const SEALED = [
  ['Signing keys', countUnreadableKeys, ': with another one, apps refuse older tickets.'],
  [
    'Second factors',
    countUnreadableFactors,
    '. If it is lost, their owners log in with a recovery code, or an admin resets them.',
  ],
  ['Connections whose secret', countUnreadableConnections, ', or enter their secrets again.'],
  ['Webhooks whose secret', countUnreadableWebhooks, ', or rotate their secrets.'],
] as const;

/** Null if the key is missing or cannot be used; the check of the secret key reports that. */
const readSecretKey = async (dataDir: string): Promise<string | null> => {
  try {
    return await readSecretFile(join(dataDir, 'secret-key'), '');
  } catch (error) {
    if (error instanceof SecretFileError) return null;
    throw error;
  }
};

/** Limit of checked accounts, because each needs a password hash (30 ms). The accounts with the most rights come first. */
const MAX_CHECKED = 20;

/** Whether an account of the demo workspace accepts the password that the documentation publishes. */
const checkDemoAccounts = async (em: Em, concurrency: number): Promise<Result[]> => {
  const accounts = await kysely(em)
    .selectFrom('users')
    .select(['email', 'password_hash', 'is_superuser'])
    // Matches only the people of the demo, because this top-level domain is reserved.
    .where('email', 'like', '%.test')
    .where('is_active', '=', true)
    .where('password_hash', 'is not', null)
    .orderBy('is_superuser', 'desc')
    .orderBy('is_staff', 'desc')
    .orderBy('id')
    .limit(MAX_CHECKED)
    .execute();
  if (accounts.length === 0) return [];
  const hasher = await createPasswordHasher(concurrency);
  for (const { email, password_hash, is_superuser } of accounts) {
    if (!(await hasher.verify(password_hash, PUBLISHED_DEMO_PASSWORD))) continue;
    return [
      warning(
        `${email}${is_superuser ? ', a superuser,' : ''} accepts the published password of the demo.`,
        'Start a service for real data with an empty database. For a demo that others reach, set DEMO_PASSWORD before its first start.',
      ),
    ];
  }
  return [];
};
