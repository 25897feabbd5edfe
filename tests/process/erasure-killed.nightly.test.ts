import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/db/database.ts';
import { kysely } from '../../src/db/kysely.ts';
import { startExternalDatabase } from '../support/database-servers.ts';
import { rowsWith } from '../support/person.ts';
import { type Service, startService } from '../support/service-process.ts';
import { until } from '../support/time.ts';

const killed = suite('a service that is killed during an erasure');

const ADA = 'ada@acme.test';
const PASSWORD = 'steward-demo-1';

const erase = async (service: Service, token: string) => {
  const path = `/jb/users/${ADA}/erasure/`;
  const { confirmation } = (await service.send(`GET ${path}`, { token })).json;
  const body = { confirmation, confirm_email: ADA };
  return service.send(`POST ${path}`, { token, body }).catch((_gone: unknown) => null);
};

killed('changes nothing before the commit, and is continued after the next start, at any step', async () => {
  await using closing = new AsyncDisposableStack();
  const database = closing.use(await startExternalDatabase());
  const { settings, connection } = await database.makeDatabase();
  const holder = new Client(connection);
  await holder.connect();
  closing.defer(() => holder.end());
  const orm = await openDatabase(connection);
  closing.defer(() => orm.close(true));
  const db = () => kysely(orm.em.fork());
  const erasures = () => db().selectFrom('erasures').select('addresses').execute();
  const isWaitingFor = (table: string) => async (): Promise<boolean> => {
    const waiting = `select from pg_locks where not granted and relation = '${table}'::regclass`;
    return (await holder.query(waiting)).rows.length > 0;
  };

  const first = closing.use(await startService('demo', settings));
  const { token } = await first.logIn('root@steward.test', PASSWORD);
  // The account is replaced, and the rest of the transaction waits.
  await holder.query('begin; lock table audit_entries in exclusive mode');
  const early = erase(first, token);
  await until('the first transaction waits', isWaitingFor('audit_entries'));
  await first.kill('SIGKILL');
  await holder.query('rollback');
  assert.is(await early, null);
  assert.equal(await erasures(), []);

  const second = closing.use(await startService('serve', settings));
  await second.logIn(ADA, PASSWORD);
  // The rest begins after this transaction.
  await holder.query('begin; select pg_current_xact_id()');
  const late = erase(second, token);
  await until('the account is replaced', async () => (await erasures()).length === 1);
  await second.kill('SIGKILL');
  await holder.query('rollback');
  assert.is(await late, null);
  assert.equal(await erasures(), [{ addresses: [ADA] }]);

  const third = closing.use(await startService('serve', settings));
  await until('the erasure is finished', async () => {
    const rows = await erasures();
    return rows.length === 1 && rows[0]?.addresses === null;
  });
  const login = await third.logIn(ADA, PASSWORD);
  const { json: entries } = await third.send('GET /jb/audit/?action=user.erase', { token });

  assert.equal(await rowsWith({ db }, [ADA]), []);
  assert.is(login.status, 400);
  assert.is(entries.length, 1);
});

killed.run();
