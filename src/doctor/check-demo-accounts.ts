import { createPasswordHasher } from '../adapters/hashing/password-hasher.ts';
import { PUBLISHED_DEMO_PASSWORD } from '../config/settings.ts';
import { type Db, tables } from '../db/kysely.ts';
import { type Finding, findingsOf } from './finding.ts';

/** Each takes a password hash, 30 ms. Those with the most rights come first. */
const MAX_CHECKED = 20;

/** Whether an account of the demo workspace accepts the password that the documentation publishes. */
export const checkDemoAccounts = async (em: Db, concurrency: number): Promise<Finding[]> => {
  const accounts = await tables(em)
    .selectFrom('users')
    .select(['email', 'password_hash', 'is_superuser'])
    // All people of the demo, and nobody else, as this top-level domain is reserved.
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
      findingsOf('demo accounts').warning(
        `${email}${is_superuser ? ', a superuser,' : ''} accepts the published password of the demo.`,
        'Start a service for real data with an empty database. For a demo that others reach, set DEMO_PASSWORD before its first start.',
      ),
    ];
  }
  return [];
};
