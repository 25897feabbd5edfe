import * as assert from 'uvu/assert';
import { findParties, inviteRows } from '../../src/cli/invite-people.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import { rejectsWith } from '../support/rejects.ts';
import { ACME, appSuite } from '../support/test-app.ts';

const COUNT = 4_000;
/** Ends the session in the middle of the rows. */
const CUT = `create function cut() returns trigger language plpgsql as $$ begin
    perform pg_terminate_backend(pg_backend_pid());
    return new; end $$;
  create trigger cut before insert on invitations for each row
    when (new.email = 'lost-${COUNT / 2}@guests.test') execute function cut()`;

const rows = Array.from({ length: COUNT }, (_, index) => ({
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
  await em.fork().execute(CUT);
  let advanced = 0;

  const attempt = inviteRows({ em, invitationMs: 14 * DAY_MS, now: app.clock.now() }, rows, {
    ...parties,
    dryRun: false,
    advance: (count) => {
      advanced += count;
    },
  });

  await rejectsWith(attempt, 'database-unavailable');
  assert.ok(advanced > 0 && advanced < COUNT, `${advanced} rows were written`);
  assert.is(await countInvited(), 0);
});

lost.run();
