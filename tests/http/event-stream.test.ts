import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import * as assert from 'uvu/assert';
import { ACME, ADA, addressOf, appSuite, GLOBEX, type TestApp } from '../support/test-app.ts';
import { until } from '../support/time.ts';
import { SALES } from '../support/usage.ts';

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

const rename = (app: TestApp, label: string) => app.as(ACME).apps.update({ app_id: SALES, label });
const PATH = '/api/v1/jb/events/stream/';

/** The ids and data of server-sent events. */
const eventsIn = (text: string) =>
  [...text.matchAll(/^id: (\d+)\ndata: (.*)$/gm)].map(([, id, data]) => ({
    id: Number(id),
    ...JSON.parse(data ?? ''),
  }));

stream('sends events with the JSON of the list, uncompressed', async ({ app }) => {
  const opened = await open(app, `${PATH}?cursor=0`, { headers: { 'accept-encoding': 'gzip' } });
  await rename(app, 'Streamed');
  await until('the event', () => opened.text.includes('Streamed'));
  opened.close();

  const { statusCode, headers } = opened.response;
  assert.is(statusCode, 200);
  assert.is(headers['content-type'], 'text/event-stream');
  assert.is(headers['content-encoding'], undefined);
  assert.is(headers['x-accel-buffering'], 'no');
  assert.equal(eventsIn(opened.text), (await app.send('GET /jb/events/', { as: ACME })).json());
});

stream('continues after the event that a client names when it connects again', async ({ app }) => {
  const first = await open(app, PATH);
  await until('the beginning', () => first.text.includes('retry:'));
  await rename(app, 'One');
  await until('the first event', () => first.text.includes('"One"'));
  first.close();
  const last = eventsIn(first.text).at(-1);
  await rename(app, 'Two');
  await rename(app, 'Three');

  const second = await open(app, PATH, { headers: { 'last-event-id': String(last?.id) } });
  await until('the events of the meantime', () => second.text.includes('"Three"'));
  second.close();

  const labels = eventsIn(second.text).map(({ data }) => data.label.to);
  assert.equal(labels, ['Two', 'Three']);
});

stream('refuses other callers, formats, types and ids', async ({ app }) => {
  const status = async (path: string, options?: Open) => {
    const { response, close } = await open(app, path, options);
    close();
    return response.statusCode;
  };

  assert.is(await status(PATH, { as: ADA }), 403);
  assert.is(await status(PATH, { headers: { authorization: 'Token 0' } }), 401);
  assert.is(await status(PATH, { headers: { accept: 'application/json' } }), 406);
  assert.is(await status(`${PATH}?types=user.vanished`), 400);
  assert.is(await status(PATH, { headers: { 'last-event-id': 'x' } }), 400);
});

stream('answers HEAD without events', async ({ app }) => {
  const { statusCode, body } = await app.send('HEAD /jb/events/stream/', { as: ACME });

  assert.equal([statusCode, body], [200, '']);
});

stream('is a subscription over tRPC, which continues by its ids too', async ({ app }) => {
  const first = await open(app, '/trpc/events.stream');
  await until('the beginning', () => first.text.includes('event: connected'));
  await rename(app, 'Four');
  await until('the event', () => first.text.includes('"Four"'));
  first.close();
  const [, id] = /^id: (\d+)$/m.exec(first.text) ?? [];
  await rename(app, 'Five');
  const second = await open(app, `/trpc/events.stream?lastEventId=${id}`);
  await until('the next event', () => second.text.includes('"Five"'));
  second.close();

  assert.is(first.response.headers['content-type'], 'text/event-stream');
  assert.not.ok(second.text.includes('"to":"Four"'));
});

stream('refuses more than 100 streams of a user, until some have ended', async ({ app }) => {
  // None of these stays open.
  for (let count = 0; count < 100; count += 1) await app.send('HEAD /jb/events/stream/', { as: ACME });
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
