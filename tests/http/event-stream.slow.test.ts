import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import * as assert from 'uvu/assert';
import { ACME, addressOf, appSuite, GLOBEX, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';

const stream = appSuite('event streams over HTTP');

type Open = { as?: string; headers?: Record<string, string> };

/** The response to a request, whose text grows. */
const open = async (app: TestApp, path: string, { as = ACME, headers }: Open = {}) => {
  const address = await addressOf(app);
  const authorization = `Token ${await app.tokenOf(as)}`;
  const request = get(`${address}${path}`, { headers: { authorization, ...headers } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const opened = { response, text: '', isOver: false, close: () => request.destroy() };
  response.setEncoding('utf8').on('data', (chunk: string) => {
    opened.text += chunk;
  });
  response
    .on('error', () => {})
    .once('close', () => {
      opened.isOver = true;
    });
  return opened;
};

const PATH = '/api/v1/jb/events/stream/';

stream('refuses more than 100 streams of a user, until some have ended', async ({ app }) => {
  const together = await Promise.all(Array.from({ length: 110 }, () => open(app, PATH)));
  const opened = together.filter(({ response }) => response.statusCode === 200);
  assert.is(opened.length, 100);
  await until('all have begun', () => opened.every(({ text }) => text.includes('retry:')));
  const { response, close } = await open(app, PATH);
  close();
  assert.is(response.statusCode, 429);
  assert.is(response.headers['retry-after'], '60');
  const other = await open(app, PATH, { as: GLOBEX });
  assert.is(other.response.statusCode, 200);
  other.close();

  for (const one of opened) one.close();
  await until('there is room', async () => {
    const again = await open(app, PATH);
    again.close();
    return again.response.statusCode === 200;
  });
});

stream.run();
