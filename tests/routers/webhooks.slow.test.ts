import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite } from '../support/test-app.ts';

const URL = 'https://hooks.acme.test/steward?token=secret';

const webhooks = appSuite('webhooks');

webhooks.before.each(async ({ app }) => {
  await app.db().deleteFrom('webhooks').execute();
});

webhooks('replay no more than 10,000 events at once', async ({ app }) => {
  const { id } = await app.as(ACME).webhooks.create({ url: URL, client: 1, types: ['saved_filter.deleted'] });
  await sql`with added as (
      insert into audit_entries (occurred_at, action, target_label, client_ids, details)
      select ${app.clock.now()}::timestamptz, 'saved-filter.delete', 'filter ' || n, '{1}', '{}' from generate_series(1, 10001) n returning id)
    insert into events (entry_id) select id from added`.execute(app.db());
  const replay = () => app.as(ACME).webhooks.replay({ id, from: new Date(0) });
  assert.match(
    (await rejectsWith(replay(), 'invalid-input')).fields?.from?.[0] ?? '',
    'More than 10000 events',
  );
  await sql`delete from events where entry_id = (
      select max(id) from audit_entries where action = 'saved-filter.delete')`.execute(app.db());

  assert.equal(await replay(), { queued: 10_000 });
  assert.equal(await replay(), { queued: 0 }, 'they wait already');
});

webhooks.run();
