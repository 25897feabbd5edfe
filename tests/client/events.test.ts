import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { createStewardClient, isProblem, type StewardClient } from '../../src/client.ts';
import { startTcpProxy } from '../support/tcp.ts';
import { ACME, ADA, addressOf, appSuite, GRACE, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';

const hearing = appSuite('steward.events');

const clientOf = async (app: TestApp, email: string, port?: number): Promise<StewardClient> =>
  createStewardClient({
    url: port === undefined ? await addressOf(app) : `http://127.0.0.1:${port}`,
    token: await app.tokenOf(email),
  });

const rename = (app: TestApp, first_name: string) => app.as(ACME).users.update({ email: GRACE, first_name });

hearing('calls the listener with the events of its types, typed, until it is stopped', async ({ app }) => {
  const steward = await clientOf(app, ACME);
  const cursor = (await steward.api.events.position.query()).cursor;
  const granted: string[][] = [];
  const stop = steward.events.on(
    'user.apps_changed',
    ({ data, timestamp }) => {
      assert.instance(timestamp, Date);
      granted.push(data.granted ?? []);
    },
    { cursor },
  );
  await rename(app, 'Unheard');
  await app.as(ACME).users.update({ email: GRACE, apps: [] });
  await app.as(ACME).users.update({ email: GRACE, apps: ['zylTKNVx'] });
  await until('both', () => granted.length === 2);
  stop();
  await app.as(ACME).users.update({ email: GRACE, apps: [] });
  await pause(300);

  assert.equal(granted, [[], ['zylTKNVx']]);
});

hearing('continues after an interruption without missing or repeating an event', async ({ app }) => {
  await using network = await startTcpProxy(Number(new URL(await addressOf(app)).port));
  const steward = await clientOf(app, ACME, network.port);
  let stream: ServerResponse | undefined;
  app.server.server.on('request', ({ url }: IncomingMessage, response: ServerResponse) => {
    if (url?.startsWith('/trpc/events.stream')) stream = response;
  });
  const names: unknown[] = [];
  const stop = steward.events.on(['user.updated', 'user.deactivated'], (event) => {
    if (event.type === 'user.updated')
      names.push((event.data as { first_name: { to: unknown } }).first_name.to);
  });
  await until('the client listens', () => stream?.headersSent === true);
  // No event has told the client its position yet.
  const cut = network.cut(500);
  await rename(app, 'One');
  await cut;
  await until('the first', () => names.length === 1);
  const again = network.cut(500);
  await rename(app, 'Two');
  await rename(app, 'Three');
  await again;
  await until('the others', () => names.length === 3);
  await rename(app, 'Four');
  await until('the last', () => names.length === 4);
  stop();

  assert.equal(names, ['One', 'Two', 'Three', 'Four']);
});

hearing('tells once why it ends', async ({ app }) => {
  const ends: unknown[] = [];
  const onEnd = (error: unknown) => void ends.push(error);
  const member = await clientOf(app, ADA);
  member.events.on('user.updated', () => {}, { onEnd });
  await until('members may not listen', () => ends.length === 1);

  const admin = await clientOf(app, ACME);
  const thrown = new Error('of the listener');
  const fail = () => {
    throw thrown;
  };
  const { cursor } = await admin.api.events.position.query();
  admin.events.on('user.updated', fail, { onEnd, cursor });
  await rename(app, 'Five');
  await rename(app, 'Six');
  await until('the listener has thrown', () => ends.length === 2);
  await pause(300);

  assert.ok(isProblem(ends[0]));
  assert.is(ends[1], thrown);
  assert.is(ends.length, 2);
});

hearing.run();
