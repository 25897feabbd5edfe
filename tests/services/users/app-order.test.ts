import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { ACME, ADA, appSuite, ROOT, type TestApp } from '../../support/test-app.ts';

const order = appSuite('apps of users in a list');

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

order('are sorted by age, also those of apps that were added after earlier lists', async ({ app }) => {
  await listedApps(app, ROOT);
  await addOldApps(app, 'Newer100', 'Older100');
  const all = await listedApps(app, ROOT);
  await addOldApps(app, 'Oldest10');
  const ofApp = await listedApps(app, ACME, '?app=sales');

  assert.equal(all.slice(0, 2), ['Older100', 'Newer100']);
  assert.equal(ofApp.slice(0, 3), ['Oldest10', 'Older100', 'Newer100']);
  assert.equal(ofApp, (await app.as(ROOT).users.get({ email: ADA })).apps);
});

order('are sorted in every list that is read while apps are added', async ({ app }) => {
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

order.run();
