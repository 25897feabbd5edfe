import * as assert from 'uvu/assert';
import { createStewardClient, isProblem, type StewardClient } from '../../src/client.ts';
import { ACME, ADA, addressOf, appSuite, GRACE, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';

const hearing = appSuite('steward.events');

const clientOf = async (app: TestApp, email: string): Promise<StewardClient> =>
  createStewardClient({ url: await addressOf(app), token: await app.tokenOf(email) });

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
  const later: unknown[] = [];
  const position = await steward.api.events.position.query();
  const stopOther = steward.events.on('user.apps_changed', (event) => void later.push(event), position);
  await app.as(ACME).users.update({ email: GRACE, apps: [] });
  await until('another listener hears the change', () => later.length === 1);
  stopOther();

  assert.equal(granted, [[], ['zylTKNVx']]);
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
  const heard: unknown[] = [];
  const stop = admin.events.on('user.updated', (event) => void heard.push(event), { cursor });
  await until('another listener hears both', () => heard.length === 2);
  stop();

  assert.ok(isProblem(ends[0]));
  assert.is(ends[1], thrown);
  assert.is(ends.length, 2);
});

hearing.run();
