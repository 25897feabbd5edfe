import * as assert from 'uvu/assert';
import { createPasswordHasher } from '../../../src/adapters/hashing/password-hasher.ts';
import { createAudit, NO_ORIGIN } from '../../../src/services/audit/audit.ts';
import { createGuessLimits, createLoginConcurrency } from '../../../src/services/auth/login-limits.ts';
import {
  createPasswordVerification,
  passwordHashKinds,
} from '../../../src/services/auth/password-verification.ts';
import recorded from '../../fixtures/django/hashes.json' with { type: 'json' };
import { rejectsWith } from '../../support/rejects.ts';
import { suite } from '../../support/suite.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { CHEAP_HASH } from '../../support/test-server.ts';

type Context = { app: TestApp; work: Record<string, number>; attempt: ReturnType<typeof attempts> };

const work = suite<Context>('failed login work');

work.before(async (context) => {
  context.app = await startTestApp();
});
work.after(({ app }) => app.close());
/** Without users whose hashes were imported. */
work.before.each(async (context) => {
  const { app } = context;
  await app.db().deleteFrom('users').where('email', 'in', Object.keys(HASHES)).execute();
  await app.db().deleteFrom('rate_limits').execute();
  context.work = {};
  context.attempt = attempts(app, context.work);
});

/** Logins with a hasher that counts its work by hash family. */
const attempts = (app: TestApp, done: Record<string, number>) => {
  const proof = (async () =>
    createPasswordVerification({
      em: app.orm.em.fork(),
      clock: app.clock,
      hasher: await createPasswordHasher(2, CHEAP_HASH, (family, units) => {
        done[family] = (done[family] ?? 0) + units;
      }),
      guessLimits: createGuessLimits(app.orm.pool),
      loginConcurrency: createLoginConcurrency(),
      staffSecondFactor: 'optional',
      audit: createAudit(NO_ORIGIN, app.clock),
      origin: NO_ORIGIN,
    }))();
  return async (email: string, password: string): Promise<void> => {
    for (const family of Object.keys(done)) delete done[family];
    await (await proof).verify(email, password, 'login');
  };
};

const PASSWORD = 'p';
const cheap = (kind: string): string =>
  recorded.find((made) => made.kind === kind && made.password === PASSWORD)?.hash ?? `no ${kind} is recorded`;
const OURS = '$argon2id$v=19$m=64,p=1,t=1';
/** The recorded argon2 hash of this password that Django made. */
const DJANGO_ARGON2 = '$argon2id$v=19$m=64,t=1,p=2';

const HASHES: Record<string, string> = {
  'pbkdf2@acme.test': cheap('pbkdf2_sha256'),
  // With another number of iterations it does not verify, but only the work matters here.
  'pbkdf2-more@acme.test': cheap('pbkdf2_sha256').replace('$100$', '$250$'),
  'bcrypt@acme.test': cheap('bcrypt_sha256'),
  'bcrypt-more@acme.test': cheap('bcrypt_sha256').replace('$04$', '$07$'),
  'scrypt@acme.test': cheap('scrypt'),
  'argon2@acme.test': cheap('argon2'),
};
const ALL_WORK = {
  [OURS]: 1,
  [DJANGO_ARGON2]: 1,
  bcrypt_sha256: 2 ** 7,
  pbkdf2_sha256: 250,
  scrypt$16$8$3: 1,
};

const sorted = (counts: Record<string, number>) => Object.entries(counts).sort();

const addUsers = async (app: TestApp, hashes: Record<string, string>): Promise<void> => {
  await app
    .db()
    .insertInto('users')
    .values(
      Object.entries(hashes).map(([email, hash]) => ({
        email,
        handle: `@${email}`,
        profile_color: '1f77b4',
        password_hash: hash,
        date_joined: app.clock.now(),
        last_password_set: app.clock.now(),
      })),
    )
    .execute();
};

work('is the same for every address while imported hashes are in use', async (context) => {
  const { app, attempt, work: done } = context;
  await addUsers(app, HASHES);
  await app.as('admin@acme.test').users.update({ email: 'grace@acme.test', is_active: false });

  for (const email of [
    'unknown@acme.test',
    'ada@acme.test',
    'grace@acme.test',
    'idle@acme.test',
    'nul\0@acme.test',
    ...Object.keys(HASHES),
  ]) {
    await rejectsWith(attempt(email, 'a wrong password'), 'invalid-credentials');
    assert.equal(sorted(done), sorted(ALL_WORK), email);
  }
});

work('is one hash of the current kind if there are no imported hashes', async ({ attempt, work: done }) => {
  for (const email of ['unknown@acme.test', 'ada@acme.test', 'idle@acme.test']) {
    await rejectsWith(attempt(email, 'a wrong password'), 'invalid-credentials');
    assert.equal(done, { [OURS]: 1 }, email);
  }
});

work('is skipped after successful logins, and shrinks as hashes are upgraded', async (context) => {
  const { app, attempt, work: done } = context;
  await addUsers(app, {
    'pbkdf2@acme.test': cheap('pbkdf2_sha256'),
    'scrypt@acme.test': cheap('scrypt'),
  });

  await attempt('ada@acme.test', app.config.demoPassword);
  assert.equal(done, { [OURS]: 1 });
  await attempt('pbkdf2@acme.test', PASSWORD);
  assert.equal(done, { pbkdf2_sha256: 100 });
  assert.equal(await passwordHashKinds(app.orm.em.fork()), [OURS, 'scrypt$16$8$3']);
  await rejectsWith(attempt('unknown@acme.test', 'x'), 'invalid-credentials');
  assert.equal(sorted(done), sorted({ [OURS]: 1, scrypt$16$8$3: 1 }));
});

work('ignores hashes of inactive users', async ({ app }) => {
  await addUsers(app, HASHES);
  await app
    .db()
    .updateTable('users')
    .set({ is_active: false })
    .where('email', '=', 'scrypt@acme.test')
    .execute();

  assert.not.ok((await passwordHashKinds(app.orm.em.fork())).join().includes('scrypt'));
});

work.run();
