import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { BATCH_ENTRIES, makeBatch, stampBatch } from './batches.ts';

/** What the load generator is told. */
export type Orders = {
  address: string;
  token: string;
  /** Each sends one request after the other. */
  connections: number;
  seconds: number;
  apps: { id: string; bodies: string[] }[];
};

/** What it tells at the end. */
export type LoadReport = {
  entries: number;
  /** By status. */
  failures: Record<string, number>;
  /** Milliseconds of each request that was acknowledged. */
  times: number[];
  seconds: number;
  cpuSeconds: number;
};

const run = async ({ address, token, connections, seconds, apps }: Orders): Promise<LoadReport> => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const report: LoadReport = { entries: 0, failures: {}, times: [], seconds: 0, cpuSeconds: 0 };

  const send = async (appId: string, body: Buffer): Promise<number> => {
    const sent = request(`${address}/api/v1/jb/apps/${appId}/usage/`, {
      method: 'POST',
      agent,
      headers: {
        authorization: `Token ${token}`,
        'content-type': 'application/json',
        'content-length': body.length,
      },
    });
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]; // of node's `response` event
    answer.resume();
    await once(answer, 'end');
    return answer.statusCode ?? 0;
  };

  const started = performance.now();
  const usage = process.cpuUsage();
  const work = async (connection: number): Promise<void> => {
    // An app's requests come over one connection if there are enough apps: its platform sends one after the other.
    const app = apps[connection % apps.length];
    const batches = app?.bodies.map(makeBatch) ?? [];
    for (let turn = 0; performance.now() - started < seconds * 1000; turn += 1) {
      const batch = batches[turn % batches.length];
      if (!app || !batch) return;
      stampBatch(batch, Date.now());
      const sentAt = performance.now();
      const status = await send(app.id, batch.body);
      if (status === 201) {
        report.times.push(performance.now() - sentAt);
        report.entries += BATCH_ENTRIES;
      } else report.failures[status] = (report.failures[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, connection) => work(connection)));

  const { user, system } = process.cpuUsage(usage);
  agent.destroy();
  return { ...report, seconds: (performance.now() - started) / 1000, cpuSeconds: (user + system) / 1e6 };
};

// Also when whoever measures has gone, however they went.
process.once('disconnect', () => process.exit());
process.once('message', async (orders: Orders) => {
  process.send?.(await run(orders), () => process.disconnect());
});
