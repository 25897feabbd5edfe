import * as assert from 'uvu/assert';
import { createPasswordHasher } from '../../../src/adapters/hashing/password-hasher.ts';
import { createAudit, NO_ORIGIN } from '../../../src/services/audit/audit.ts';
import { createGuessLimits, createLoginConcurrency } from '../../../src/services/auth/login-limits.ts';
import { createPasswordVerification } from '../../../src/services/auth/password-verification.ts';
import { rejectsWith } from '../../support/rejects.ts';
import { suite } from '../../support/suite.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { CHEAP_HASH } from '../../support/test-server.ts';

type Context = { app: TestApp; work: string[]; attempt: ReturnType<typeof attempts> };

const work = suite<Context>('failed login work');

work.before(async (context) => {
  context.app = await startTestApp();
});
work.after(({ app }) => app.close());
work.before.each((context) => {
  context.work = [];
  context.attempt = attempts(context.app, context.work);
});

/** Logins with a hasher that lists the algorithms of its work. */
const attempts = (app: TestApp, done: string[]) => {
  const proof = (async () =>
    createPasswordVerification({
      em: app.orm.em.fork(),
      clock: app.clock,
      hasher: await createPasswordHasher(2, CHEAP_HASH, (algorithm) => done.push(algorithm)),
      guessLimits: createGuessLimits(app.orm.pool),
      loginConcurrency: createLoginConcurrency(),
      staffSecondFactor: 'optional',
      audit: createAudit(NO_ORIGIN, app.clock),
      origin: NO_ORIGIN,
    }))();
  return async (email: string, password: string): Promise<void> => {
    done.length = 0;
    await (await proof).verify(email, password, 'login');
  };
};

work('is one hash for every address', async ({ app, attempt, work: done }) => {
  await app.as('admin@acme.test').users.update({ email: 'grace@acme.test', is_active: false });

  for (const email of [
    'unknown@acme.test',
    'ada@acme.test',
    'grace@acme.test',
    'idle@acme.test',
    'nul\0@acme.test',
  ]) {
    await rejectsWith(attempt(email, 'a wrong password'), 'invalid-credentials');
    assert.equal(done, ['argon2id'], email);
  }
});

work.run();
