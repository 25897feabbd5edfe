import type { IncomingMessage, ServerResponse } from 'node:http';
import * as assert from 'uvu/assert';
import { createStewardClient } from '../../src/client.ts';
import { startTcpProxy } from '../support/tcp.ts';
import { ACME, addressOf, appSuite, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { SALES } from '../support/usage.ts';

/** The client waits seconds before it connects again. */
const hearing = appSuite('steward.events after an interruption');

const rename = (app: TestApp, label: string) => app.as(ACME).apps.update({ app_id: SALES, label });

hearing('continues after an interruption without missing or repeating an event', async ({ app }) => {
  await using network = await startTcpProxy(Number(new URL(await addressOf(app)).port));
  const url = `http://127.0.0.1:${network.port}`;
  const steward = createStewardClient({ url, token: await app.tokenOf(ACME) });
  let stream: ServerResponse | undefined;
  app.server.server.on('request', ({ url }: IncomingMessage, response: ServerResponse) => {
    if (url?.startsWith('/trpc/events.stream')) stream = response;
  });
  const names: unknown[] = [];
  const stop = steward.events.on(['app.updated', 'user.deactivated'], (event) => {
    if (event.type === 'app.updated') names.push((event.data as { label: { to: unknown } }).label.to);
  });
  await until('the client listens', () => stream?.headersSent === true);
  // No event has told the client its position yet.
  await network.cut(0);
  await rename(app, 'One');
  await until('the first', () => names.length === 1);
  await network.cut(0);
  await rename(app, 'Two');
  await rename(app, 'Three');
  await until('the others', () => names.length === 3);
  await rename(app, 'Four');
  await until('the last', () => names.length === 4);
  stop();

  assert.equal(names, ['One', 'Two', 'Three', 'Four']);
});

hearing.run();
