import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import pg from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isOfStatement, problemOfDatabaseError } from '../../src/db/database-errors.ts';

const closedPort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  server.close();
  await once(server, 'close');
  return bound !== null && typeof bound === 'object' ? bound.port : 0;
};

const failureOf = async (attempt: Promise<unknown>): Promise<unknown> => {
  const [outcome] = await Promise.allSettled([attempt]);
  return outcome.status === 'rejected' ? outcome.reason : assert.unreachable('it should have failed');
};

const away = suite('problemOfDatabaseError');

away('reports database-unavailable for a host that refuses at each of its addresses', async () => {
  const socket = connect({
    host: 'database.test',
    port: await closedPort(),
    lookup: (_host, _options, callback) =>
      callback(null, [
        { address: '127.0.0.1', family: 4 },
        { address: '127.0.0.2', family: 4 },
      ]),
  });

  const error = await failureOf(once(socket, 'connect'));

  assert.instance(error, AggregateError);
  assert.is(problemOfDatabaseError(error)?.code, 'database-unavailable');
});

away('reports database-unavailable for a missing socket', async () => {
  const error = await failureOf(once(connect('/nowhere/.s.PGSQL.5432'), 'connect'));

  assert.is(problemOfDatabaseError(error)?.code, 'database-unavailable');
});

away('reports a full disk of the database', () => {
  const error = Object.assign(new Error('could not extend file "base/5/1": No space left on device'), {
    code: '53100',
  });
  const problem = problemOfDatabaseError(error);

  assert.is(problem?.status, 503);
  assert.is(problem?.message, 'The database has no disk space left.');
});

away.run();

const failures = suite('isOfStatement');

/** As `pg` reports a failure. */
const failureWith = (code: string, severity: string): Error =>
  Object.assign(new pg.DatabaseError('a message', 0, 'error'), { code, severity });

failures('tells failed statements from ended sessions by SQLSTATE, in every language of the server', () => {
  for (const severity of ['ERROR', 'FEHLER', 'ERREUR', 'ОШИБКА'])
    for (const code of ['22012', '23505', '25006', '40P01', '53100', '55P03', '57014'])
      assert.ok(isOfStatement(failureWith(code, severity)), `${severity} ${code}`);
  for (const severity of ['FATAL', 'FATALE', 'PANIK'])
    for (const code of ['08006', '25P03', '53300', '57P01', '57P05', 'XX000'])
      assert.not(isOfStatement(failureWith(code, severity)), `${severity} ${code}`);
  assert.not(isOfStatement(new Error('Connection terminated unexpectedly')));
});

failures.run();
