import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { type Service, startService } from '../support/service-process.ts';
import { until } from '../support/time.ts';
import { addMembers, countRows, revokeFromAll, statusesOf, undoAt } from '../support/users.ts';

const killed = suite('a service that is killed during a bulk change');

const COUNT = 1_000;
const GRANTED = `app_grants g join users u on u.id = g.user_id where email like '%@many.test'`;
/** Hundreds of people are changed until then. */
const PATIENCE_MS = 60_000;

killed('continues when the request is repeated, and the undo restores all 1,000 people', async () => {
  await using database = await startExternalDatabase();
  const { settings, connection } = await database.makeDatabase();
  const first = await startService('demo', settings);
  const [eye, holder] = [new Client(connection), new Client(connection)];
  await Promise.all([eye.connect(), holder.connect()]);
  await addMembers(eye, COUNT);
  const [{ pid: holderPid }] = (await holder.query('select pg_backend_pid() as pid')).rows;

  /** Holds one person, starts the request, and kills the service when it has come to this person. */
  const killAtPerson = async (service: Service, n: number, start: () => Promise<unknown>): Promise<void> => {
    await holder.query(`begin; select from users where email = 'm${n}@many.test' for update`);
    const lost = start().catch(() => null);
    const isWaiting = async () =>
      (await countRows(eye, `pg_stat_activity where ${holderPid} = any(pg_blocking_pids(pid))`)) > 0;
    await until('the request waits for the person', isWaiting, PATIENCE_MS);
    await service.kill('SIGKILL');
    await holder.query('rollback');
    await lost;
  };

  await killAtPerson(first, 300, () => revokeFromAll(first));
  const left = await countRows(eye, GRANTED);
  assert.ok(left > 0 && left < COUNT, `${left} people are left`);

  const second = await startService('serve', settings);
  const repeated = await revokeFromAll(second);
  const { operation, results } = repeated.json;
  assert.is(repeated.status, 200, repeated.text);
  assert.equal([results.length, statusesOf(results)], [COUNT, ['ok']]);
  assert.equal([await countRows(eye, GRANTED), await countRows(eye, 'operations')], [0, 1]);
  const again = await revokeFromAll(second);
  assert.equal([again.headers.get('idempotency-replayed'), again.text], ['true', repeated.text]);

  await killAtPerson(second, 300, () => undoAt(second, operation));
  assert.ok((await countRows(eye, GRANTED)) > 0, 'the undo has begun');
  await using third = await startService('serve', settings);
  const undone = await undoAt(third, operation);
  assert.equal(undone.json, { operation, reverted: COUNT, skipped: [], is_finished: true });
  assert.is(await countRows(eye, GRANTED), COUNT);
  await Promise.all([eye.end(), holder.end()]);
});

killed.run();
