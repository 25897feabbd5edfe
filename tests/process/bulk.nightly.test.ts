import { Client } from 'pg';
import * as assert from 'uvu/assert';
import { startExternalDatabase } from '../support/database-servers.ts';
import { peakMemoryMb, type Service, startService } from '../support/service-process.ts';
import { suite } from '../support/suite.ts';

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

type Context = { database: Client; service: Service; token: string; release: () => Promise<void> };

const bulk = suite<Context>(`${SIZE} invitations in one request`);

bulk.before(async (context) => {
  const server = await startExternalDatabase();
  const { settings, connection } = await server.makeDatabase();
  context.service = await startService('demo', settings);
  context.token = (await context.service.logIn('admin@acme.test', 'steward-demo-1')).token;
  context.database = new Client(connection);
  await context.database.connect();
  context.release = () => server[Symbol.asyncDispose]();
});
bulk.after(async ({ database, service, release }) => {
  await database.end();
  await service[Symbol.asyncDispose]();
  await release();
});

const countRows = async ({ database }: Context) => {
  const { rows } = await database.query(`
    with bulk as (select id from invitations where email like '%@bulk.test')
    select (select count(*)::int from bulk) as invitations,
      (select count(*)::int from invitation_apps join bulk on invitation_id = id) as apps,
      (select count(*)::int from outbox_mails where invitation_id in (select id from bulk)) as mails`);
  return rows[0];
};

bulk('are created in one transaction with little memory', async (context) => {
  const { service, token } = context;
  const answer = await service.send('POST /jb/users/invitations/', { token, body: INVITATIONS });
  const peakMb = peakMemoryMb(service.pid);

  console.log(`${SIZE} invitations: peak memory ${peakMb ?? 'unknown'} MB`);
  assert.is(answer.status, 200, answer.text.slice(0, 500));
  assert.is(answer.json.length, SIZE);
  assert.is(answer.json[SIZE - 1].email, `guest-${SIZE - 1}@bulk.test`);
  assert.equal(await countRows(context), { invitations: SIZE, apps: SIZE, mails: SIZE });
  assert.ok(peakMb === undefined || peakMb < MAX_PEAK_MB, `${peakMb} MB at the peak`);
});

bulk(
  'are created once per idempotency key, and the response is stored with little memory',
  async (context) => {
    const { service, token } = context;
    const before = await countRows(context);
    const body = INVITATIONS.map((one, index) => ({ ...one, email: `keyed-${index}@bulk.test` }));
    const headers = { 'idempotency-key': 'bulk' };

    const first = await service.send('POST /jb/users/invitations/', { token, body, headers });
    const again = await service.send('POST /jb/users/invitations/', { token, body, headers });
    const peakMb = peakMemoryMb(service.pid);

    console.log(`under a key, and again: peak memory ${peakMb ?? 'unknown'} MB`);
    assert.is(first.status, 200, first.text.slice(0, 500));
    assert.is(again.text, first.text);
    const { invitations } = await countRows(context);
    assert.is(invitations, before.invitations + SIZE);
    assert.ok(peakMb === undefined || peakMb < MAX_PEAK_MB, `${peakMb} MB at the peak`);
  },
);

bulk.run();
