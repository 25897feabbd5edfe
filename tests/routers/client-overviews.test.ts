import * as assert from 'uvu/assert';
import { writeUsage } from '../../src/services/usage/usage-writes.ts';
import { addMember } from '../support/members.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, ADA, appSuite, ROOT, STAFF } from '../support/test-app.ts';
import { logEntry, SALES } from '../support/usage.ts';

const overviews = appSuite('overviews of clients');

overviews('count people, apps and roles of the clients that the caller sees', async ({ app }) => {
  const of = async (who: string, client?: number) =>
    (await app.as(who).clients.overview({ client })).map(({ id, people, admins, delegates, apps }) => [
      id,
      people,
      admins,
      delegates,
      apps,
    ]);
  const before = await of(ACME);
  const [[, people = 0] = []] = before;
  const email = await addMember(app);
  await addMember(app);
  await app.as(ACME).roles.setInClient({ id: 1, email, roles: ['auditor'] });
  await app.as(ACME).users.deactivate({ email: await addMember(app) });

  assert.equal(await of(ACME), [[1, people + 2, 1, 1, 2]]);
  assert.equal(await of(ROOT, 1), await of(ACME));
  assert.equal(
    (await of(STAFF)).map(([id]) => id),
    [1, 2],
  );
  assert.equal(await of(ACME, 2), []);
  await rejectsWith(of(ADA), 'forbidden');
});

overviews('say on which day an app of the client was last used', async ({ app }) => {
  const site = (await app.as(ROOT).sites.create({ domain: 'unused.example.test', name: 'U' })).id;
  const { id } = await app.as(ROOT).clients.create({ name: 'Unused', site });
  const last = async (client: number) => (await app.as(ROOT).clients.overview({ client }))[0]?.last_used_day;
  await writeUsage(app.orm.em.fork(), SALES, [logEntry(0)], app.clock.now());

  assert.equal([await last(1), await last(id)], [app.clock.now().toISOString().slice(0, 10), null]);
});

overviews.run();
