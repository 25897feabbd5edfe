import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { setClient } from '../support/access-views.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ADA, appSuite, ROOT } from '../support/test-app.ts';
import { SALES } from '../support/usage.ts';

const removals = appSuite('removals of apps and clients');

removals('that meet a grant leave no half of either', async ({ app }) => {
  const root = app.as(ROOT);
  for (let round = 0; round < 5; round += 1) {
    const site = await root.sites.create({ domain: `race-${round}.test`, name: 'Race' });
    const { id, name } = await root.clients.create({ name: `Race ${round}`, site: site.id });
    await sql`insert into apps (id, client_id, slug, label, created_at)
      values (${`race000${round}`}, ${id}, ${`race-${round}`}, 'Race', ${app.clock.now()}::timestamptz)`.execute(
      app.db(),
    );
    await setClient(app, id, false);
    const email = `race-${round}@acme.test`;
    const outcomes = await Promise.allSettled([
      root.users.create({ email, apps: [`race000${round}`] }),
      root.clients.remove({ id, confirm_name: name }),
      root.grants.create({ app_id: `race000${round}`, email: ADA }),
    ]);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        assert.match(
          outcome.reason.code ?? outcome.reason.message,
          /NOT_FOUND|BAD_REQUEST|SERVICE_UNAVAILABLE/,
        );
    if (outcomes[1].status === 'rejected') await root.clients.remove({ id, confirm_name: name });
    await rejectsWith(root.clients.get({ id }), 'not-found');
    const [user] = await root.users.list({ search: email });
    if (user) assert.is(user.is_active, false);
  }
});

removals('that meet changes of access of the same people do not fail', async ({ app }) => {
  const root = app.as(ROOT);
  for (let round = 0; round < 3; round += 1) {
    const site = await root.sites.create({ domain: `busy-${round}.test`, name: 'Busy' });
    const { id, name } = await root.clients.create({ name: `Busy ${round}`, site: site.id });
    const app_id = `busy000${round}`;
    await sql`insert into apps (id, client_id, slug, label, created_at)
      values (${app_id}, ${id}, ${`busy-${round}`}, 'Busy', ${app.clock.now()}::timestamptz)`.execute(
      app.db(),
    );
    const emails = ['a', 'b', 'c', 'd'].map((letter) => `${letter}-${round}@busy.test`);
    for (const email of emails) await root.users.create({ email, apps: [app_id, SALES], send_email: false });
    await setClient(app, id, false);
    const changes = [true, false, true].flatMap((granted, n) => [
      root.access.update({ id, cells: emails.map((email) => ({ email, app_id, granted })) }),
      root.groups.create({ id, name: `Team ${n}`, members: emails }),
    ]);
    const outcomes = await Promise.allSettled([root.clients.remove({ id, confirm_name: name }), ...changes]);

    assert.is(outcomes[0].status, 'fulfilled');
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.match(outcome.reason.code, /NOT_FOUND|BAD_REQUEST/);
  }
});

removals.run();
