import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fillUniqueTokens, generateLoad, probeDuring, UNIQUE_TOKEN } from '../../bench/comparison/load.ts';
import type { Measurement } from '../../bench/comparison/measure.ts';
import type { Peer, PeerName } from '../../bench/comparison/peers.ts';
import {
  compareResponses,
  findDifference,
  ResponsesDiffer,
} from '../../bench/comparison/response-equivalence.ts';
import { SCENARIOS } from '../../bench/comparison/scenarios.ts';
import { goalsTable, replaceTables, summarize } from '../../bench/comparison/tables.ts';

const equivalence = suite('bench: response equivalence');

equivalence('finds the first difference of two JSON values, ignoring the order of keys', () => {
  const user = { email: 'ada@acme.test', apps: ['a', 'b'], extra: { deep: [1, { x: null }] } };
  const copy = { extra: { deep: [1, { x: null }] }, apps: user.apps, email: user.email };

  assert.is(findDifference(user, copy), null);
  assert.is(findDifference(user, { ...user, apps: ['b', 'a'] }), '/apps/0: "a" and "b"');
  assert.is(findDifference(user, { ...user, extra: { deep: [1, { x: 0 }] } }), '/extra/deep/1/x: null and 0');
  assert.is(findDifference({ a: 1 }, { a: 1, b: null }), '/b: undefined and null');
  assert.is(findDifference([], {}), '/: [] and {}');
});

/** Starts a server that sends the same body for every request. */
const serveBody = async (body: string, status = 200) => {
  const server = createServer((_request, response) => response.writeHead(status).end(body));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a TCP server
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const peerAt = (name: PeerName, url: string): Peer => ({ name, url, pid: process.pid });

const compareBodies = async (ofSteward: string, ofBaseline: string): Promise<void> => {
  await using steward = await serveBody(ofSteward);
  await using baseline = await serveBody(ofBaseline);
  const scenario = SCENARIOS.find(({ name }) => name === 'apps');
  if (!scenario) throw new Error('There is no scenario "apps".');
  const peers = [peerAt('steward', steward.url), peerAt('baseline', baseline.url)];
  const samples = { members: [], visitors: [], popularApp: '', activeApp: '' };
  const fail = async (): Promise<never> => {
    throw new Error('A read must not query the database.');
  };
  await compareResponses(scenario, peers, { samples, state: { changes: fail, restore: fail }, token: '' });
};

equivalence('accepts responses that differ only in formatting', async () => {
  await compareBodies('[{"id":1,"b":2.0}]', '[{"b":2,"id":1}]');
});

equivalence('rejects responses that differ in a value', async () => {
  const error = await compareBodies('[{"id":1}]', '[{"id":"1"}]').catch((thrown: unknown) => thrown);

  assert.instance(error, ResponsesDiffer);
  assert.match(String(error), 'apps: steward and baseline differ at /response/0/id: 1 and "1"');
});

equivalence.run();

const load = suite('bench: load');

load('measures the responses of a server', async () => {
  await using server = await serveBody('[]');

  const result = await generateLoad({
    url: server.url,
    requests: [{ path: '/' }],
    connections: 2,
    amount: 10,
  });

  assert.is(result.responses, 10);
  assert.ok(result.p99 >= result.p50);
});

load('fails on a response other than 200', async () => {
  await using server = await serveBody('{}', 503);
  const failing = { url: server.url, requests: [{ path: '/' }], connections: 1, amount: 3 };

  const error = await generateLoad(failing).catch((thrown: unknown) => thrown);

  assert.match(String(error), /3 × 503/);
});

load('probes the latency of light requests while other work runs', async () => {
  await using server = await serveBody('[]');
  const probe = { url: server.url, request: { path: '/' }, intervalMs: 5 };

  const p99 = await probeDuring(probe, () => new Promise((resolve) => setTimeout(resolve, 50)));

  assert.ok(p99 > 0);
});

load('replaces all tokens of a body by one number, a new one each time', async () => {
  const body = `{"a":"${UNIQUE_TOKEN}","ä":"${UNIQUE_TOKEN}"}`;

  const first = fillUniqueTokens(body);
  await new Promise((resolve) => setTimeout(resolve, 1));

  assert.match(first, /^\{"a":"(\d{11})","ä":"\1"\}$/);
  assert.is.not(fillUniqueTokens(body), first);
});

load.run();

const tables = suite('bench: tables');

const measurement = (peer: string, round: number, changes: Partial<Measurement> = {}): Measurement => ({
  scenario: 'patch',
  peer,
  round,
  perSecond: 100,
  p50: 1,
  p99: 2,
  serverCpu: 1,
  postgresCpu: 1,
  peakMb: 100,
  probeP99: Number.NaN,
  ...changes,
});

tables('compare medians over all rounds, at equal CPU time, with the goals', () => {
  const figures = summarize([
    ...[50, 600, 590].map((perSecond, round) => measurement('steward', round, { perSecond })),
    ...[1.8, 1.9, 9].map((serverCpu, round) => measurement('django', round, { serverCpu })),
  ]);

  const table = goalsTable(figures, 1_000);

  assert.equal(
    figures.map(({ peer, perSecond }) => [peer, perSecond]),
    [
      ['steward', 590],
      ['django', 100],
    ],
  );
  assert.ok(table.includes('| patch | / django | 5.9 | 1.45 | ≥ 1.4 | met |'), table.join('\n'));
});

tables('show each goal that is not met', () => {
  const measurements = [
    measurement('steward', 1, { scenario: 'all-users', peakMb: 400, probeP99: 60 }),
    measurement('before', 1, { scenario: 'all-users', serverCpu: 0.5 }),
    measurement('steward', 1, { scenario: 'gate', perSecond: 2_999 }),
  ];

  const table = goalsTable(summarize(measurements), 1_201);

  for (const line of [
    '| all-users | / before | 1 | 0.75 | ≥ 0.8 | **not met** |',
    '| all-users | p99 of /healthz, ms | 60 |  | ≤ 50 | **not met** |',
    '| gate | per second | 2,999 |  | ≥ 3,000 | **not met** |',
    '| all | peak MB | 400 |  | ≤ 320 | **not met** |',
    '| start | ms | 1,201 |  | ≤ 1,200 | **not met** |',
  ])
    assert.ok(table.includes(line), table.join('\n'));
});

tables('replace what stands between the markers of a document, repeatedly', () => {
  const [begin, end] = ['<!-- begin: npm run bench -- --write -->', '<!-- end: npm run bench -- --write -->'];
  const document = `# Title\n\n${begin}\n${end}\n\nEnd\n`;

  const replaced = replaceTables(document, ['| a |', '| b |']);

  assert.is(replaced, `# Title\n\n${begin}\n\n| a |\n| b |\n\n${end}\n\nEnd\n`);
  assert.is(replaceTables(replaced, ['| a |', '| b |']), replaced);
  assert.throws(() => replaceTables('# Title', []), /lacks the markers/);
});

tables.run();
