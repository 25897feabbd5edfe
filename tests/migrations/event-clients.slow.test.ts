import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { suite } from '../support/suite.ts';

type Server = Awaited<ReturnType<typeof startExternalDatabase>>;

const migration = suite<{ server: Server }>('migrations: clients of events');

migration.before(async (context) => {
  context.server = await startExternalDatabase();
});
migration.after(({ server }) => server[Symbol.asyncDispose]());

migration(
  'adds those of earlier events, and of those that the previous version publishes',
  async ({ server }) => {
    const { connection } = await server.makeDatabase();
    await migrateDatabase(connection, { to: '0046-fewer-index-entries' });
    await using client = Object.assign(new Client(connection), {
      [Symbol.asyncDispose]: (): Promise<void> => client.end(),
    });
    await client.connect();
    const publish = async (action: string, clients: number[]) => {
      await client.query(
        `insert into audit_entries (occurred_at, action, client_ids) values (now(), $1, $2)`,
        [action, clients],
      );
      await client.query('insert into events (entry_id) select max(id) from audit_entries');
    };
    await publish('user.update', [1, 2]);
    await publish('site.create', []);
    await migrateDatabase(connection, { to: '0047-event-clients' });
    await publish('user.deactivate', [2]);
    await migrateDatabase(connection);
    await publish('user.reactivate', [3]);

    const { rows } = await client.query(
      'select client_id, event_id::int, action from event_clients order by event_id, client_id',
    );
    assert.equal(rows, [
      { client_id: 1, event_id: 1, action: 'user.update' },
      { client_id: 2, event_id: 1, action: 'user.update' },
      { client_id: 2, event_id: 3, action: 'user.deactivate' },
      { client_id: 3, event_id: 4, action: 'user.reactivate' },
    ]);
  },
);

migration.run();
