import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/external-database.ts';
import { until } from '../support/poll.ts';
import { type Service, startService } from '../support/service-process.ts';
import { SALES } from '../support/usage.ts';

const killed = suite('a service that is killed during a bulk change');

const COUNT = 1_000;
const ADD_PEOPLE = `
  with people as (
    insert into users (email, handle, profile_color, date_joined, last_password_set)
    select 'm' || n || '@many.test', 'm' || n, 'abcdef', now(), now() from generate_series(1, ${COUNT}) n
    returning id),
  members as (insert into memberships (client_id, user_id) select 1, id from people)
  insert into app_grants (user_id, app_id) select id, '${SALES}' from people`;

type Row = { status: string };
const statusesOf = (rows: Row[]) => [...new Set(rows.map(({ status }) => status))];

/** Those who have the app are selected, so that people who have lost it no longer match. */
const revokeFrom = async (service: Service, key: string) => {
  const { token } = await service.logIn('admin@acme.test', 'steward-demo-1');
  const filter = { app: 'sales', search: 'many.test' };
  const body = { filter, action: 'revoke-apps', apps: [SALES] };
  return service.send('POST /jb/users/bulk/', { token, body, headers: { 'idempotency-key': key } });
};

const undoAt = async (service: Service, operation: string) => {
  const { token } = await service.logIn('admin@acme.test', 'steward-demo-1');
  return service.send(`POST /jb/operations/${operation}/undo/`, { token });
};

const open = async () => {
  const database = await startExternalDatabase();
  const { settings, connection } = await database.makeDatabase();
  const eye = new Client(connection);
  const holder = new Client(connection);
  const count = async (from: string): Promise<number> =>
    (await eye.query(`select from ${from}`)).rowCount ?? 0;

  /** Holds one person, starts the request, and kills the service when it has come to this person. */
  const killAtPerson = async (service: Service, n: number, start: () => Promise<unknown>): Promise<void> => {
    await holder.query(`begin; select from users where email = 'm${n}@many.test' for update`);
    const lost = start().catch(() => null);
    await until('the request waits for the person', async () => {
      const waiting = `pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      return (await count(waiting)) > 0;
    });
    await service.kill('SIGKILL');
    await holder.query('rollback');
    await lost;
  };
  return {
    settings,
    count,
    killAtPerson,
    prepare: async () => {
      await Promise.all([eye.connect(), holder.connect()]);
      await eye.query(ADD_PEOPLE);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([eye.end(), holder.end()]);
      await database[Symbol.asyncDispose]();
    },
  };
};

killed('continues when the request is repeated, and the undo restores all 1,000 people', async () => {
  await using database = await open();
  const { settings, count, killAtPerson } = database;
  const granted = `app_grants g join users u on u.id = g.user_id where email like '%@many.test'`;
  const first = await startService('demo', settings);
  await database.prepare();

  await killAtPerson(first, 500, () => revokeFrom(first, 'revoke-1'));
  const left = await count(granted);
  assert.ok(left > 0 && left < COUNT, `${left} people are left`);

  const second = await startService('serve', settings);
  const repeated = await revokeFrom(second, 'revoke-1');
  const { operation, results } = repeated.json;
  assert.is(repeated.status, 200, repeated.text);
  assert.equal([results.length, statusesOf(results)], [COUNT, ['ok']]);
  assert.equal([await count(granted), await count('operations')], [0, 1]);
  const again = await revokeFrom(second, 'revoke-1');
  assert.equal([again.headers.get('idempotency-replayed'), again.text], ['true', repeated.text]);

  await killAtPerson(second, 700, () => undoAt(second, operation));
  assert.ok((await count(granted)) > 0, 'the undo has begun');
  await using third = await startService('serve', settings);
  const undone = await undoAt(third, operation);
  assert.equal(undone.json, { operation, reverted: COUNT, skipped: [], is_finished: true });
  assert.is(await count(granted), COUNT);
});

killed.run();

const shared = suite('users.bulkUpdate at two instances at once');

shared('changes each person once for one Idempotency-Key, and returns the same response', async () => {
  await using database = await open();
  const { settings, count } = database;
  await using first = await startService('demo', settings);
  await using second = await startService('serve', settings);
  await database.prepare();

  const responses = await Promise.all([first, second].map((service) => revokeFrom(service, 'revoke-2')));

  const [one, other] = responses;
  assert.equal([one?.status, other?.status], [200, 200], `${one?.text} ${other?.text}`);
  assert.is(one?.text, other?.text);
  assert.equal(statusesOf(one?.json.results), ['ok']);
  assert.equal([await count('operations'), await count('operation_changes')], [1, COUNT]);
  assert.is(
    await count(`audit_entries where action = 'user.change-apps' and target like '%@many.test'`),
    COUNT,
  );
});

shared.run();
