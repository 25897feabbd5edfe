import { Agent } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ADD_DIRECTORY, COUNTS, createCall, runCycle } from '../../bench/directory-cycle.ts';
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';
import { openClient } from '../../src/db/client.ts';
import { newNamedToken } from '../../src/lib/ids.ts';
import { tokenDigest } from '../../src/services/auth/credentials.ts';
import { makeScratchFolder } from '../support/files.ts';
import { startService } from '../support/service-process.ts';
import { until } from '../support/time.ts';

const KILLS = 10;
const CYCLE = { people: 1_200, groups: 24, width: 8 };
/** Answers between two kills. */
const BETWEEN_KILLS = 180;

const killed = suite('a directory with kills');

/** Runs statements while no service uses the folder. */
const query = async (dataDir: string, text: string, values: string[] = []) => {
  const { connection, stop } = await startEmbeddedPostgres({ dataDir });
  const client = await openClient({ ...connection, startupOptions: '-c TimeZone=UTC' }, 'tests');
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
    await stop();
  }
};

killed('provisions everybody once, although the service is killed ten times meanwhile', async () => {
  await using folder = await makeScratchFolder();
  const settings = { DATA_DIR: folder.path, RATE_LIMIT_PER_MINUTE: '0' };
  let service = await startService('serve', settings);
  await service.kill('SIGTERM');
  const token = newNamedToken();
  const [tenant] = await query(folder.path, ADD_DIRECTORY, [tokenDigest(token)]);
  service = await startService('serve', settings);
  const agent = new Agent({ keepAlive: true });
  let answers = 0;
  const target = { addressOf: () => `${service.address}/scim/v2/${tenant.id}`, token, agent };
  const send = createCall(target);
  const cycle = runCycle(async (...request) => {
    const answer = await send(...request);
    answers += 1;
    return answer;
  }, CYCLE);

  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = answers;
    await until('the directory gets answers', () => answers >= before + BETWEEN_KILLS, 60_000);
    await service.kill('SIGKILL');
    service = await startService('serve', settings);
  }
  await cycle;
  await runCycle(send, CYCLE);
  await service.kill('SIGTERM');
  agent.destroy();
  const [counts] = await query(folder.path, COUNTS);

  const { people, groups } = CYCLE;
  assert.equal(counts, {
    ...{ memberships: people, users: people + 1, groups },
    ...{ 'members of groups': people, 'people of the directory': people },
  });
});

killed.run();
