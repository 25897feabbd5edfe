import { Client } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import { makeDemoDir } from '../support/demo-data.ts';
import { type Service, serverProcesses, startService } from '../support/service-process.ts';
import { until } from '../support/time.ts';

const WRITERS = 6;
const ENOUGH = 60;

/** Creates users until the service ends, and adds the acknowledged ones to `made`. */
const writeUsers = async (service: Service, token: string, writer: number, made: string[]): Promise<void> => {
  for (let count = 0; ; count += 1) {
    const email = `writer-${writer}-${count}@acme.test`;
    const body = { email, extra: { count }, apps: ['zylTKNVx'], send_email: false };
    const answer = await service.send('POST /jb/users/', { token, body }).catch((_gone: unknown) => null);
    if (answer === null) return;
    assert.is(answer.status, 200, answer.text);
    made.push(email);
  }
};

const countHalfMade = async (dataDir: string): Promise<number> => {
  const { connection, stop } = await startEmbeddedPostgres({ dataDir });
  const client = new Client(connection);
  try {
    await client.connect();
    const { rows } = await client.query(`
      select count(*)::int as count from users
      where email like 'writer-%' and (
        not exists (select from memberships where user_id = users.id) or
        not exists (select from app_grants where user_id = users.id))`);
    return rows[0].count;
  } finally {
    await client.end();
    await stop();
  }
};

const killed = suite('a service that is killed');

killed('has every acknowledged user after the next start, and no partial one', async () => {
  await using folder = await makeDemoDir();
  await using service = await startService('demo', { DATA_DIR: folder.path });
  const { token } = await service.logIn('admin@acme.test', 'steward-demo-1');
  const made: string[] = [];
  const writing = Array.from({ length: WRITERS }, (_, writer) => writeUsers(service, token, writer, made));
  await Promise.race([until(`${ENOUGH} users are made`, () => made.length >= ENOUGH), Promise.all(writing)]);

  await service.kill('SIGKILL');
  await Promise.all(writing);
  await using second = await startService('serve', { DATA_DIR: folder.path });
  const { status, json } = await second.send('GET /jb/users/', { token });
  await second.kill('SIGKILL');
  await until('the database server has ended, too', async () => {
    return (await serverProcesses(folder.path)).length === 0;
  });
  const halfMade = await countHalfMade(folder.path);

  assert.is(status, 200);
  const found = new Set(json.map((user: { email: string }) => user.email));
  assert.equal(
    made.filter((email) => !found.has(email)),
    [],
  );
  assert.is(halfMade, 0);
  assert.is((await serverProcesses(folder.path)).length, 0);
  console.log(`${made.length} users acknowledged; up again after ${second.startMs} ms`);
});

killed.run();
