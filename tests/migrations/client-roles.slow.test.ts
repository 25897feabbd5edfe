import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { suite } from '../support/suite.ts';

type Server = Awaited<ReturnType<typeof startExternalDatabase>>;

const migration = suite<{ server: Server }>('migrations: roles that an offboarding has ended');

migration.before(async (context) => {
  context.server = await startExternalDatabase();
});
migration.after(({ server }) => server[Symbol.asyncDispose]());

const OPERATION = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff';
const GROUP = { kind: 'group', key: '7', added_by: null, added_at: '2026-01-31T12:00:00Z' };
const PROBLEM = { code: 'changed-since', detail: 'Changed.' };

migration('keep what the undo gives back, and report what it has left', async ({ server }) => {
  const { connection } = await server.makeDatabase();
  await migrateDatabase(connection, { to: '0034-second-factors' });
  await using client = Object.assign(new Client(connection), {
    [Symbol.asyncDispose]: (): Promise<void> => client.end(),
  });
  await client.connect();
  const { rows: users } = await client.query<{ id: number }>(
    `insert into users (email, handle, profile_color, date_joined, last_password_set)
      select name || '@acme.test', name, '336699', now(), now()
      from unnest(array['ada', 'bo', 'cy']) as name returning id`,
  );
  await client.query(`insert into operations (id, user_id, change, started_at) values ($1, 1, '', now())`, [
    OPERATION,
  ]);
  const [ended, skipped] = [
    [GROUP, { kind: 'client-admin', key: '2', is_superseded: true }, { kind: 'role', key: 'isStaff' }],
    [{ app_id: null, group_id: null, kind: 'client-admin', problem: PROBLEM }],
  ];
  const rows = [
    [ended, null],
    [null, { reverted: 1, skipped }],
    [null, null],
  ] as const;
  for (const [index, [ended, undone]] of rows.entries())
    await client.query(
      `insert into operation_changes (operation_id, user_id, ended, undone, changed_at) values ($1, $2, $3, $4, now())`,
      [OPERATION, users[index]?.id, ended && JSON.stringify(ended), undone && JSON.stringify(undone)],
    );

  await migrateDatabase(connection);

  const { rows: changes } = await client.query(
    'select ended, undone from operation_changes order by user_id',
  );
  assert.equal(changes, [
    {
      ended: [
        GROUP,
        { kind: 'client-role', key: 'client-admin:2', is_superseded: true },
        { kind: 'role', key: 'isStaff' },
      ],
      undone: null,
    },
    {
      ended: null,
      undone: {
        reverted: 1,
        skipped: [{ app_id: null, group_id: null, kind: 'client-role', problem: PROBLEM }],
      },
    },
    { ended: null, undone: null },
  ]);
});

migration.run();
