import * as assert from 'uvu/assert';
import { rejectsWith } from '../../support/rejects.ts';
import { ACME, ADA, appSuite, EDSGER, GLOBEX, GRACE, ROOT, STAFF } from '../../support/test-app.ts';

const reading = appSuite('reading users');

/** What each user sees of each other user, loaded one by one. */
const PAIRS = [ROOT, STAFF, ACME, GLOBEX, ADA].flatMap((caller) =>
  [ADA, GRACE, EDSGER, ROOT, 'unknown@acme.test'].map((email) => ({ caller, email })),
);

reading('returns to each of many concurrent callers what they may see', async ({ app }) => {
  const read = async ({ caller, email }: (typeof PAIRS)[number]) => {
    const answer = await app.send(`GET /jb/users/${email}/`, { as: caller });
    return answer.statusCode === 200 ? answer.body : answer.statusCode;
  };
  const alone: unknown[] = [];
  for (const pair of PAIRS) alone.push(await read(pair));
  const together = await Promise.all(PAIRS.map(read));

  assert.equal(together, alone);
  assert.ok(alone.includes(404) && alone.some((body) => String(body).includes(EDSGER)));
});

reading('sees uncommitted changes in its own transaction', async ({ app }) => {
  const root = await app.openServices().authentication.findByToken(await app.tokenOf(ROOT));
  assert.ok(root);
  const names = await app.inTransaction(
    { requestId: null, address: null },
    async ({ users, userUpdates }) => {
      await userUpdates.update(root, GRACE, { first_name: 'Rear Admiral' });
      const [inside, outside] = [users, app.openServices().users].map((all) => all.get(root, GRACE));
      return [(await inside)?.first_name, (await outside)?.first_name];
    },
  );

  assert.equal(names, ['Rear Admiral', 'Grace']);
  await rejectsWith(app.openServices().users.get(root, 'unknown@acme.test'), 'not-found');
});

reading.run();
