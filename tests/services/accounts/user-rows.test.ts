import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { rejectsWith } from '../../support/rejects.ts';
import {
  ACME,
  ADA,
  appSuite,
  EDSGER,
  GLOBEX,
  GRACE,
  ROOT,
  STAFF,
  type TestApp,
} from '../../support/test-app.ts';
import { until } from '../../support/time.ts';

const reading = appSuite('reading users');

/** Whether a statement waits for a lock on the table. */
const isWaitedFor = async (app: TestApp): Promise<boolean> => {
  const waiting = sql`select from pg_locks where not granted and relation = 'app_grants'::regclass
    and database = (select oid from pg_database where datname = current_database())`;
  return (await waiting.execute(app.db())).rows.length > 0;
};

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

reading('authenticates many concurrent callers, and rejects malformed tokens', async ({ app }) => {
  const people = [ROOT, STAFF, ACME, GLOBEX, ADA, GRACE, EDSGER];
  const callers = Array.from({ length: 60 }, (_, index) => people[index % (people.length + 1)] ?? null);
  const tokens = await Promise.all(callers.map((email) => (email ? app.tokenOf(email) : '0'.repeat(40))));
  const actors = await Promise.all(
    tokens.map((token) => app.openServices().authentication.findByToken(token)),
  );

  assert.equal(
    actors.map((actor) => actor?.email ?? null),
    callers,
  );
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

reading('responds to anonymous callers with unauthenticated for any address', async ({ app }) => {
  const headers = { authorization: `Token ${'0'.repeat(40)}` };
  for (const email of [ADA, 'unknown@acme.test', 'a%00b@acme.test']) {
    assert.is((await app.send(`GET /jb/users/${email}/`)).statusCode, 401);
    assert.is((await app.send(`GET /jb/users/${email}/`, { headers })).statusCode, 401);
  }
});

reading('sends no query for a caller without credentials', async ({ app }) => {
  const pool = app.orm.pool;
  /** How many connections a request takes from the pool. */
  const countTaken = async (expected: number, as?: string): Promise<number> => {
    let taken = 0;
    const count = () => {
      taken += 1;
    };
    pool.on('acquire', count);
    assert.is((await app.send(`GET /jb/users/${ADA}/`, { ...(as && { as }) })).statusCode, expected);
    pool.off('acquire', count);
    return taken;
  };
  const anonymous = [await countTaken(401), await countTaken(401), await countTaken(401)];

  // The database clock takes one too, every 10 s.
  assert.is(Math.min(...anonymous), 0);
  assert.ok((await countTaken(200, ROOT)) > 0, 'it would have been seen');
});

reading('reads no user for an unknown token', async ({ app }) => {
  const headers = { authorization: `Token ${'1'.repeat(40)}` };
  const locker = app.orm.em.fork();
  await locker.begin();
  // Reading a user waits for this lock; looking up a token does not.
  await locker.execute('lock table app_grants in access exclusive mode');
  let isAnswered = false;
  const request = app.send(`GET /jb/users/${ADA}/`, { headers }).finally(() => {
    isAnswered = true;
  });
  let isWaiting = false;
  await until('an answer, or a statement that waits', async () => {
    isWaiting = await isWaitedFor(app);
    return isAnswered || isWaiting;
  });
  await locker.rollback();

  assert.is((await request).statusCode, 401);
  assert.is(isWaiting, false);
});

reading('reads the current row again for a second read of one request', async ({ app }) => {
  const { authentication, users } = app.openServices();
  const root = await authentication.findByToken(await app.tokenOf(ROOT));
  assert.ok(root);
  const { first_name: before } = await users.get(root, EDSGER);
  await app.openServices().userUpdates.update(root, EDSGER, { first_name: 'Dijkstra, E.' });

  assert.is.not(before, 'Dijkstra, E.');
  assert.is((await users.get(root, EDSGER)).first_name, 'Dijkstra, E.');
});

/** As another instance does: adds apps that are older than all others, and grants them to Ada. */
const addOldApps = async (app: TestApp, ...ids: string[]): Promise<void> => {
  for (const id of ids) {
    await sql`insert into apps (id, slug, label, client_id, created_at)
      select ${id}, ${id.toLowerCase()}, ${id}, client_id, (select min(created_at) from apps) - interval '1 hour'
      from apps where slug = 'sales'`.execute(app.db());
    await sql`insert into app_grants (user_id, app_id) select id, ${id} from users where email = ${ADA}`.execute(
      app.db(),
    );
  }
};

type User = { email: string; apps: string[] };

const listedApps = async (app: TestApp, as: string, query = ''): Promise<string[]> => {
  const users = (await app.send(`GET /jb/users/${query}`, { as })).json<User[]>();
  return users.find(({ email }) => email === ADA)?.apps ?? [];
};

reading(
  'apps of lists are sorted by age, also those of apps that were added after earlier lists',
  async ({ app }) => {
    await listedApps(app, ROOT);
    await addOldApps(app, 'Newer100', 'Older100');
    const all = await listedApps(app, ROOT);
    await addOldApps(app, 'Oldest10');
    const ofApp = await listedApps(app, ACME, '?app=sales');

    assert.equal(all.slice(0, 2), ['Older100', 'Newer100']);
    assert.equal(ofApp.slice(0, 3), ['Oldest10', 'Older100', 'Newer100']);
    assert.equal(ofApp, (await app.as(ROOT).users.get({ email: ADA })).apps);
  },
);

reading('apps of lists are sorted in every list that is read while apps are added', async ({ app }) => {
  const lists: Promise<string[]>[] = [];
  for (let added = 0; added < 20; added += 1) {
    lists.push(listedApps(app, ROOT), listedApps(app, ACME, '?app=sales'));
    await addOldApps(app, `Added${100 + added}`);
  }
  const sorted = (await app.as(ROOT).users.get({ email: ADA })).apps;

  for (const apps of await Promise.all(lists))
    assert.equal(
      apps,
      sorted.filter((id) => apps.includes(id)),
    );
});

reading.run();
