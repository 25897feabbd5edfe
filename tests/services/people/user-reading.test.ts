import * as assert from 'uvu/assert';
import { appSuite } from '../../support/app-suite.ts';
import { rejectsWith } from '../../support/rejects-with.ts';
import { ACME, ADA, EDSGER, GLOBEX, GRACE, ROOT, STAFF } from '../../support/test-app.ts';

const reading = appSuite('reading users');

/** What everybody sees of everybody, one by one. */
const PAIRS = [ROOT, STAFF, ACME, GLOBEX, ADA].flatMap((caller) =>
  [ADA, GRACE, EDSGER, ROOT, 'nobody@acme.test'].map((email) => ({ caller, email })),
);

reading('gives each of many callers at once what they would see alone', async ({ app }) => {
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

reading('knows every one of many callers at once, and nobody by a token that is none', async ({ app }) => {
  const people = [ROOT, STAFF, ACME, GLOBEX, ADA, GRACE, EDSGER];
  const callers = Array.from({ length: 60 }, (_, index) => people[index % (people.length + 1)] ?? null);
  const tokens = await Promise.all(callers.map((email) => (email ? app.tokenOf(email) : '0'.repeat(40))));
  const actors = await Promise.all(tokens.map((token) => app.openServices().identity.ofToken(token)));

  assert.equal(
    actors.map((actor) => actor?.email ?? null),
    callers,
  );
});

reading('sees in a transaction what nobody else does as yet', async ({ app }) => {
  const root = await app.openServices().identity.ofToken(await app.tokenOf(ROOT));
  assert.ok(root);
  const names = await app.inTransaction({ requestId: null, address: null }, async ({ users }) => {
    await users.update(root, GRACE, { first_name: 'Rear Admiral' });
    const [inside, outside] = [users, app.openServices().users].map((all) => all.get(root, GRACE));
    return [(await inside)?.first_name, (await outside)?.first_name];
  });

  assert.equal(names, ['Rear Admiral', 'Grace']);
  await rejectsWith(app.openServices().users.get(root, 'nobody@acme.test'), 'not-found');
});

reading('tells nobody more than that they are nobody, whatever they ask for', async ({ app }) => {
  const headers = { authorization: `Token ${'0'.repeat(40)}` };
  for (const email of [ADA, 'nobody@acme.test', 'a%00b@acme.test']) {
    assert.is((await app.send(`GET /jb/users/${email}/`)).statusCode, 401);
    assert.is((await app.send(`GET /jb/users/${email}/`, { headers })).statusCode, 401);
  }
});

reading('asks the database nothing for somebody who shows no credentials', async ({ app }) => {
  const pool = await app.orm.em.getConnection().getNativeClient();
  let asked = 0;
  const count = () => {
    asked += 1;
  };
  pool.on('acquire', count);
  assert.is((await app.send(`GET /jb/users/${ADA}/`)).statusCode, 401);
  assert.is(asked, 0);
  assert.is((await app.send(`GET /jb/users/${ADA}/`, { as: ROOT })).statusCode, 200);
  assert.ok(asked > 0, 'it would have been seen');
  pool.off('acquire', count);
});

reading('of one request is of the moment, also when it reads twice', async ({ app }) => {
  const { identity, users } = app.openServices();
  const root = await identity.ofToken(await app.tokenOf(ROOT));
  assert.ok(root);
  users.beginGet(EDSGER);
  const { first_name: before } = await users.get(root, EDSGER);
  await app.openServices().users.update(root, EDSGER, { first_name: 'Dijkstra, E.' });

  assert.is.not(before, 'Dijkstra, E.');
  assert.is((await users.get(root, EDSGER)).first_name, 'Dijkstra, E.');
});

reading.run();
