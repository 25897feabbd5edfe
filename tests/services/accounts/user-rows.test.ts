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
