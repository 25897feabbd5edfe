import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from '../usage/answers.ts';
import { openConnection, type Timed } from './connection.ts';
import { stamped } from './stamps.ts';

/** What the load generator is told. Requests are sent in turn, each as a whole, head and body. */
export type Orders = {
  port: number;
  requests: string[];
  /** The request to begin with. */
  offset: number;
  connections: number;
  seconds: number;
  status: number;
  /** Bytes that an answer may have. */
  leastBytes: number;
  mostBytes: number;
  /** Over all connections; without it, as fast as answers come. */
  perSecond?: number;
  /** What is asked now and then meanwhile, over a connection of its own, to learn how long others wait. */
  beside: { request: string; intervalMs: number } | null;
};

/** What it tells at the end; times in milliseconds. */
export type LoadReport = {
  answers: number;
  /** Of how many bytes in all. */
  bytes: number;
  seconds: number;
  p50: number;
  p99: number;
  firstByte: number;
  besideP99: number;
  /** What was not as expected, and how often. */
  failures: Record<string, number>;
  cpuSeconds: number;
};

const run = async (orders: Orders): Promise<LoadReport> => {
  const { port, requests, offset, connections, seconds, status, leastBytes, mostBytes, perSecond, beside } =
    orders;
  const texts = requests.map((request) => Buffer.from(request));
  const failures: Record<string, number> = {};
  const times: number[] = [];
  const firstBytes: number[] = [];
  let bytes = 0;
  let next = offset;

  const keep = (answer: Timed): void => {
    const isExpected = answer.status === status && answer.bytes >= leastBytes && answer.bytes <= mostBytes;
    if (!isExpected) {
      const failure = answer.status === status ? `${answer.bytes} bytes` : `status ${answer.status}`;
      failures[failure] = (failures[failure] ?? 0) + 1;
    }
    times.push(answer.ms);
    firstBytes.push(answer.firstByteMs);
    bytes += answer.bytes;
  };

  const started = performance.now();
  const cpu = process.cpuUsage();
  const isOver = (): boolean => performance.now() - started >= seconds * 1000;
  const pauseMs = perSecond === undefined ? 0 : (connections * 1000) / perSecond;
  const work = async (): Promise<void> => {
    const connection = openConnection(port);
    for (let dueAt = performance.now(); !isOver(); dueAt += pauseMs) {
      // One that comes late does not put off the next.
      const waitMs = dueAt - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      const text = texts[next % texts.length];
      next += 1;
      if (text) keep(await connection.send(stamped(text)));
    }
    connection.close();
  };
  const waits: number[] = [];
  const besides = async (): Promise<void> => {
    if (!beside) return;
    const connection = openConnection(port);
    const request = Buffer.from(beside.request);
    while (!isOver()) {
      const answer = await connection.send(request);
      if (answer.status !== 200) failures[`beside: status ${answer.status}`] = 1;
      // Those that would have been sent while this one waited would have waited, too.
      for (let ms = answer.ms; ms > 0; ms -= beside.intervalMs) waits.push(ms);
      await sleep(Math.max(0, beside.intervalMs - answer.ms));
    }
    connection.close();
  };
  const others = besides();
  await Promise.all(Array.from({ length: connections }, work));
  const lasted = (performance.now() - started) / 1000;
  await others;

  const { user, system } = process.cpuUsage(cpu);
  return {
    answers: times.length,
    bytes,
    seconds: lasted,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    firstByte: quantile(firstBytes, 0.5),
    besideP99: quantile(waits, 0.99),
    failures,
    cpuSeconds: (user + system) / 1e6,
  };
};

// Also when whoever measures has gone, however they went.
process.once('disconnect', () => process.exit());
process.on('message', (orders: Orders) => {
  run(orders).then(
    (report) => process.send?.(report),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
