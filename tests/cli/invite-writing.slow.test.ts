import * as assert from 'uvu/assert';
import { findParties, inviteRows, type Parties } from '../../src/cli/invite-people.ts';
import { DAY_MS } from '../../src/lib/clock.ts';
import type { Column, CsvRow } from '../../src/services/invitations/invitation-csv.ts';
import { ACME, ADA, appSuite, type TestApp } from '../support/test-app.ts';

const rowOf = (line: number, email: string, cells: Partial<Record<Column, string>> = {}): CsvRow => ({
  line,
  cells: {
    first_name: '',
    last_name: '',
    client: '',
    apps: '',
    is_demo_user: '',
    extra: '',
    ...cells,
    email,
  },
});
/** Rows from line 2, as in a file with a header. */
const guests = (name: string, count: number): CsvRow[] =>
  Array.from({ length: count }, (_, index) => rowOf(index + 2, `${name}-${index}@guests.test`));

type Options = Partial<Parties> & { dryRun?: boolean };

const invite = async (app: TestApp, rows: CsvRow[], { dryRun = false, ...parties }: Options = {}) => {
  const em = app.orm.em.fork();
  const advances: number[] = [];
  const outcome = await inviteRows({ em, invitationMs: 14 * DAY_MS, now: app.clock.now() }, rows, {
    ...(await findParties(em, 1, ACME)),
    ...parties,
    dryRun,
    advance: (count) => advances.push(count),
  });
  return { ...outcome, advanced: advances.reduce((sum, count) => sum + count, 0) };
};

const everything = async (app: TestApp) => ({
  invitations: await app.db().selectFrom('invitations').selectAll().orderBy('id').execute(),
  apps: await app.db().selectFrom('invitation_apps').selectAll().execute(),
  mails: await app.db().selectFrom('outbox_mails').selectAll().orderBy('id').execute(),
  audit: await app.db().selectFrom('audit_entries').selectAll().orderBy('id').execute(),
});

const writing = appSuite('inviteRows');

writing('creates invitations, mails and audit entries', async ({ app }) => {
  const cells = { apps: 'sales churn', is_demo_user: 'true', extra: '{"team": 7}' };

  const outcome = await invite(app, [rowOf(2, 'Eve@guests.test', cells), rowOf(3, 'bob@guests.test')]);

  const listed = await app.as(ACME).invitations.list({ status: 'pending' });
  const { mails, audit } = await everything(app);
  const eve = listed.find(({ email }) => email === 'eve@guests.test');
  assert.equal(outcome, { made: 2, renewed: 0, faults: [], advanced: 2 });
  assert.equal(
    [eve?.initial_apps, eve?.is_demo_user, eve?.extra, eve?.user.email],
    [['zylTKNVx', 'Qm3vR8pa'], 'true', { team: 7 }, ACME],
  );
  assert.equal(
    mails
      .slice(-2)
      .map(({ recipient }) => recipient)
      .sort(),
    ['bob@guests.test', 'eve@guests.test'],
  );
  assert.equal(
    audit.slice(-2).map((entry) => [entry.action, entry.actor_label, entry.request_id]),
    [1, 2].map(() => ['invitation.create', ACME, null]),
  );
});

writing('counts renewed invitations, and merges their apps', async ({ app }) => {
  await invite(app, [rowOf(2, 'again@guests.test', { apps: 'sales', extra: '{"a": 1}' })]);
  app.clock.advance(1000);

  const outcome = await invite(app, [
    rowOf(2, 'again@guests.test', { apps: 'churn' }),
    rowOf(3, 'new@guests.test'),
  ]);

  const listed = await app.as(ACME).invitations.list({ status: 'pending' });
  const again = listed.find(({ email }) => email === 'again@guests.test');
  assert.equal([outcome.made, outcome.renewed], [1, 1]);
  assert.equal(again?.initial_apps, ['zylTKNVx', 'Qm3vR8pa']);
  assert.equal(again?.extra, { a: 1 });
});

writing('reports the result of a dry run without changing anything', async ({ app }) => {
  await invite(app, [rowOf(2, 'dry-0@guests.test')]);
  app.clock.advance(1000);
  const before = await everything(app);

  const outcome = await invite(app, guests('dry', 500), { dryRun: true });

  assert.equal(outcome, { made: 499, renewed: 1, faults: [], advanced: 500 });
  assert.equal(await everything(app), before);
});

writing('creates no invitation if one of 1,000 lines is invalid, and names the line', async ({ app }) => {
  const before = await everything(app);
  const rows = guests('many', 1000);
  rows[765] = rowOf(767, 'ada@ACME.test');

  const outcome = await invite(app, rows);

  const message = 'An active user of this client already has this address.';
  assert.equal(outcome.faults, [{ line: 767, email: 'ada@ACME.test', field: 'email', message }]);
  assert.equal(await everything(app), before);
});

writing('reports the same errors as the API', async ({ app }) => {
  const items = [
    { email: 'no address', client: 1 },
    { email: ADA, client: 1 },
    { email: 'x@guests.test', client: 1, initial_apps: ['Hb7cW2ke'] },
    { email: 'y@guests.test', client: 1, is_demo_user: 'maybe' },
  ];
  const rows = items.map(({ email, initial_apps = [], is_demo_user = '' }, index) =>
    rowOf(index, email, { apps: initial_apps.join(' '), is_demo_user }),
  );

  const { faults } = await invite(app, rows);
  const answer = await app.send('POST /jb/users/invitations/', { as: ACME, payload: items });

  const errors: Record<string, Record<string, string[]>> = {};
  for (const { line, field, message } of faults) {
    errors[line] = { [field === 'apps' ? 'initial_apps' : field]: [message] };
  }
  assert.is(answer.statusCode, 400);
  assert.equal(errors, answer.json().errors);
});

writing('reports errors that only the service finds by column, such as a deleted app', async ({ app }) => {
  const apps = new Map([['sales', 'gone1234']]);

  const { faults } = await invite(app, [rowOf(2, 'z@guests.test', { apps: 'sales' })], { apps });

  const message = 'This client has no app gone1234.';
  assert.equal(faults, [{ line: 2, email: 'z@guests.test', field: 'apps', message }]);
});

writing('does not deadlock with a concurrent import of the same people', async ({ app }) => {
  const rows = guests('both', 1000);

  const outcomes = await Promise.all([invite(app, rows), invite(app, rows.toReversed())]);

  assert.equal(
    outcomes.map(({ made, renewed, faults }) => [made + renewed, faults]),
    [
      [1000, []],
      [1000, []],
    ],
  );
});

writing.run();
