import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { type Service, startService } from '../support/service-process.ts';
import { until } from '../support/time.ts';

const killed = suite('a service that is killed during a request with an Idempotency-Key');

const make = (service: Service, token: string, name: string) =>
  service.send('POST /jb/users/', {
    token,
    body: { email: `${name}@acme.test`, send_email: false },
    headers: { 'idempotency-key': name },
  });
const isReplayed = ({ headers }: { headers: Headers }) => headers.get('idempotency-replayed') === 'true';

killed('has no effect before the commit, and one effect after it for any number of repeats', async () => {
  await using database = await startExternalDatabase();
  const { settings, connection } = await database.makeDatabase();
  const first = await startService('demo', settings);
  const { token } = await first.logIn('admin@acme.test', 'steward-demo-1');
  const eye = new Client(connection);
  const holder = new Client(connection);
  await Promise.all([eye.connect(), holder.connect()]);
  const countOf = async (sql: string): Promise<number> => (await eye.query(sql)).rowCount ?? 0;
  const usersCalled = (name: string) => countOf(`select from users where email = '${name}@acme.test'`);

  // The user is inserted, and the rest of the transaction waits.
  await holder.query('begin; lock table audit_entries in access exclusive mode');
  const lost = make(first, token, 'early').catch((_gone: unknown) => null);
  await until('the work waits', async () => {
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    return (await countOf(waiting)) > 0;
  });
  await first.kill('SIGKILL');
  await holder.query('rollback');
  assert.is(await lost, null);

  await using second = await startService('serve', settings);
  const done = await make(second, token, 'early');
  assert.equal([done.status, isReplayed(done)], [200, false], done.text);

  const unheard = make(second, token, 'late').catch((_gone: unknown) => null);
  await until('the work is committed', async () => (await usersCalled('late')) === 1);
  await second.kill('SIGKILL');
  await unheard;

  await using third = await startService('serve', settings);
  for (const name of ['early', 'late']) {
    const again = await make(third, token, name);
    assert.equal([again.status, isReplayed(again)], [200, true], again.text);
    assert.is(again.json.email, `${name}@acme.test`);
    assert.is(await usersCalled(name), 1);
    const made = `select from audit_entries where action = 'user.create' and target_label = '${name}@acme.test'`;
    assert.is(await countOf(made), 1);
  }
  await Promise.all([eye.end(), holder.end()]);
});

killed.run();
