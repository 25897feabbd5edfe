import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { rest } from '../../bench/comparison/calls.ts';
import { openConnection } from '../../bench/comparison/connection.ts';
import { differenceBetween } from '../../bench/comparison/differences.ts';
import { withTables } from '../../bench/comparison/document.ts';
import { KINDS } from '../../bench/comparison/kinds.ts';
import { slopeOf } from '../../bench/comparison/least-squares.ts';
import type { Measurement } from '../../bench/comparison/measuring.ts';
import type { Peer, PeerName } from '../../bench/comparison/peers.ts';
import { compareAnswers, DifferentAnswers } from '../../bench/comparison/sameness.ts';
import { STAMP, stamped } from '../../bench/comparison/stamps.ts';
import { summarize } from '../../bench/comparison/summary.ts';
import { goalsTable } from '../../bench/comparison/tables.ts';

const comparison = suite('bench: comparing');

comparison('tells where two values differ', () => {
  const user = { email: 'ada@acme.test', apps: ['a', 'b'], extra: { deep: [1, { x: null }] } };
  const like = { ...user, extra: { deep: [1, { x: null }] } };

  assert.is(differenceBetween(user, { extra: like.extra, apps: like.apps, email: like.email }), null);
  assert.is(differenceBetween(user, { ...user, apps: ['b', 'a'] }), '/apps/0: "a" and "b"');
  assert.is(
    differenceBetween(user, { ...user, extra: { deep: [1, { x: 0 }] } }),
    '/extra/deep/1/x: null and 0',
  );
  assert.is(differenceBetween({ a: 1 }, { a: 1, b: null }), '/b: nothing and null');
  assert.is(differenceBetween([], {}), '/: [] and {}');
});

/** A server that answers every request by one text, and hangs up afterwards if told so. */
const serveText = async (text: string, closes = false) => {
  const server = createServer((_request, response) => {
    if (closes) response.setHeader('connection', 'close');
    response.end(text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port, // it listens on a port
    [Symbol.asyncDispose]: async (): Promise<void> => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const peerAt = (name: PeerName, port: number): Peer => ({
  name,
  port,
  pid: process.pid,
  dialectFor: () => rest,
  writesAll: () => true,
  samplesOf: (samples) => samples,
});

const compareTexts = async (ofSteward: string, ofFloor: string) => {
  await using steward = await serveText(ofSteward);
  await using floor = await serveText(ofFloor);
  const kind = KINDS.find(({ name }) => name === 'apps');
  if (!kind) throw new Error('There is no such kind.');
  const peers = [peerAt('steward', steward.port), peerAt('floor', floor.port)];
  const samples = { members: [], logins: [], djangoLogins: [], peopledApp: '', usedApp: '' };
  const nothing = async (): Promise<never> => {
    throw new Error('Reading changes nothing.');
  };
  const state = { written: nothing, restore: nothing, settle: nothing };
  const sizes = await compareAnswers(kind, peers, { samples, state, token: 'none' });
  return [...sizes].map(([{ name }, size]) => [name, size]);
};

comparison('takes answers for the same that are written differently', async () => {
  assert.equal(await compareTexts('[{"id":1,"b":2.0}]', '[{"b":2,"id":1}]'), [
    ['steward', { least: 13, most: 23 }],
    ['floor', { least: 12, most: 20 }],
  ]);
});

comparison('ends where answers are not the same', async () => {
  const error = await compareTexts('[{"id":1}]', '[{"id":"1"}]').catch((thrown: unknown) => thrown);

  assert.instance(error, DifferentAnswers);
  assert.match(String(error), 'apps: steward and floor are not the same in /answer/0/0/id: 1 and "1"');
});

comparison('asks again over a new connection where a server hangs up after each answer', async () => {
  await using server = await serveText('[]', true);
  const connection = openConnection(server.port, true);
  const request = Buffer.from('GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');

  const answers = [await connection.send(request), await connection.send(request)];
  connection.close();

  assert.equal(
    answers.map(({ status, body }) => [status, body.toString()]),
    [
      [200, '[]'],
      [200, '[]'],
    ],
  );
});

comparison('stamps a copy of a request by one number, another one each time', () => {
  const request = Buffer.from(`{"a":"${STAMP}","ä":"${STAMP}"}`);
  const plain = Buffer.from('GET / HTTP/1.1');

  const [one, other] = [stamped(request).toString(), stamped(request).toString()];

  assert.match(one, /^\{"a":"(\d{10})","ä":"\1"\}$/);
  assert.is.not(one, other);
  assert.is(request.toString(), `{"a":"${STAMP}","ä":"${STAMP}"}`);
  assert.is(stamped(plain), plain);
});

const measured = (peer: string, round: number, perSecond: number): Measurement => ({
  ...{ kind: 'one', connections: 8, peer, round, perSecond, p50: 1, p99: 2, firstByte: 1 },
  ...{ server: 1, postgres: 1, peakMb: 100, kilobytes: 1, besideP99: Number.NaN, generator: 0.1 },
});

comparison('holds medians against the goals', () => {
  const rounds = (peer: string, rates: number[]) => rates.map((rate, round) => measured(peer, round, rate));
  const figures = summarize([
    ...rounds('steward', [50, 600, 590]),
    ...rounds('floor', [1_000, 1_000, 9_000]),
  ]);

  assert.equal(
    figures.map(({ peer, perSecond }) => [peer, perSecond]),
    [
      ['steward', 590],
      ['floor', 1_000],
    ],
  );
  assert.ok(goalsTable(figures).includes('| one, 8 at a time | / floor | 0.59 | 1 | ≥ 0.6 | **not met** |'));
  assert.ok(
    goalsTable(summarize([measured('steward', 1, 600), measured('floor', 1, 1_000)])).includes(
      '| one, 8 at a time | / floor | 0.6 | 1 | ≥ 0.6 | met |',
    ),
  );
});

comparison('holds a crowd against the longest waits of the floor, and batches against single calls', () => {
  const figures = (peer: string, changes: Partial<Measurement>) => ({
    ...measured(peer, 1, 600),
    ...changes,
  });
  const table = goalsTable(
    summarize([
      figures('steward', { connections: 32, p99: 50 }),
      figures('floor', { connections: 32, p99: 20 }),
      figures('steward', {}),
      figures('steward', { kind: 'trpc-10', perSecond: 480 }),
    ]),
  );

  assert.ok(
    table.includes('| one, 32 at a time | p99 / floor | 2.5 |  | ≤ 2 | **not met** |'),
    table.join('\n'),
  );
  assert.ok(
    table.includes('| trpc-10, 8 at a time | / one by REST | 0.8 |  | ≥ 0.7 | met |'),
    table.join('\n'),
  );
});

comparison('finds by how much something grows, whatever its ups and downs', () => {
  const points = Array.from({ length: 101 }, (_, x) => ({ x, y: 200 + 0.5 * x + (x % 2 === 0 ? 10 : -10) }));

  assert.ok(Math.abs(slopeOf(points) - 0.5) < 1e-9);
});

comparison('writes tables between two marks, again and again', () => {
  const mark = '<!-- written by npm run bench -- --write -->';
  const document = `# Title\n\n${mark}\n<!-- end of what is written -->\n\nEnd\n`;

  const once = withTables(document, ['| a |', '| b |']);

  assert.is(once, `# Title\n\n${mark}\n\n| a |\n| b |\n\n<!-- end of what is written -->\n\nEnd\n`);
  assert.is(withTables(once, ['| a |', '| b |']), once);
  assert.throws(() => withTables('# Title', []), /does not say where/);
});

comparison.run();
