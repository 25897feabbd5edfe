import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { peakMemoryMb, startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';
import { queryOnce } from '../support/test-server.ts';

const SIZE = 10_000;
const MAX_PEAK_MB = 300;

const invitation = (index: number) => ({
  email: `guest-${index}@bulk.test`,
  client: 1,
  extra: { index },
  initial_apps: ['zylTKNVx'],
  is_demo_user: 'false',
});
const INVITATIONS = Array.from({ length: SIZE }, (_, index) => invitation(index));

const start = async (started: AsyncDisposableStack) => {
  const server = started.use(await startExternalDatabase());
  const { settings, connection } = await server.makeDatabase();
  const service = started.use(await startService('demo', settings));
  const { token } = await service.logIn('admin@acme.test', 'steward-demo-1');
  return { connection, service, token };
};

const bulk = suiteWith(`${SIZE} invitations in one request`, start);

const COUNTS = `
  with bulk as (select id from invitations where email like '%@bulk.test')
  select (select count(*)::int from bulk) as invitations,
    (select count(*)::int from invitation_apps join bulk on invitation_id = id) as apps,
    (select count(*)::int from outbox_mails where invitation_id in (select id from bulk)) as mails`;

bulk('are created in one transaction with little memory', async ({ connection, service, token }) => {
  const answer = await service.send('POST /jb/users/invitations/', { token, body: INVITATIONS });
  const peakMb = peakMemoryMb(service.pid);

  console.log(`${SIZE} invitations: peak memory ${peakMb ?? 'unknown'} MB`);
  assert.is(answer.status, 200, answer.text.slice(0, 500));
  assert.is(answer.json.length, SIZE);
  assert.is(answer.json[SIZE - 1].email, `guest-${SIZE - 1}@bulk.test`);
  assert.equal(await queryOnce(connection, COUNTS), [{ invitations: SIZE, apps: SIZE, mails: SIZE }]);
  assert.ok(peakMb === undefined || peakMb < MAX_PEAK_MB, `${peakMb} MB at the peak`);
});

bulk.run();
