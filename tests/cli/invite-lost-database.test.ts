import * as assert from 'uvu/assert';
import { findParties, inviteRows } from '../../src/cli/invite-people.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite } from '../support/test-app.ts';

const CUT = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
    and xact_start is not null`;

const rows = Array.from({ length: 4000 }, (_, index) => ({
  line: index + 2,
  cells: {
    email: `lost-${index}@guests.test`,
    first_name: '',
    last_name: '',
    client: '',
    apps: '',
    is_demo_user: '',
    extra: '',
  },
}));

const lost = appSuite('inviteRows without a database');

lost('rolls back, and releases the connection', async ({ app }) => {
  const em = app.orm.em.fork();
  const parties = await findParties(em, 1, ACME);
  const countInvited = async () => {
    const invited = app.db().selectFrom('invitations').select('id').where('email', 'like', 'lost-%');
    return (await invited.execute()).length;
  };
  let cut: Promise<unknown> | undefined;

  const attempt = inviteRows({ em, invitationMs: 14 * DAY_MS, now: app.clock.now() }, rows, {
    ...parties,
    dryRun: false,
    advance: () => {
      cut ??= app.orm.em.fork().execute(CUT);
    },
  });

  await rejectsWith(attempt, 'database-unavailable');
  await cut;
  assert.is(await countInvited(), 0);
});

lost.run();
