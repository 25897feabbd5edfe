import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import type { Connection } from '../../src/config/connection.ts';
import { openUnlimitedSession } from '../../src/db/client.ts';
import { openDatabase } from '../../src/db/database.ts';
import { kysely } from '../../src/db/kysely.ts';
import { notifyListeners } from '../../src/db/notifications.ts';
import { listenToDatabase } from '../../src/db/pg-listener.ts';
import { suite } from '../support/suite.ts';
import { connectToDatabase } from '../support/tcp.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { until } from '../support/time.ts';

type Context = Awaited<ReturnType<typeof createTestDatabase>>;
const notifications = suite<Context>('notifications of the database');

notifications.before(async (context) => {
  Object.assign(context, await createTestDatabase('empty'));
});
notifications.after(({ drop }) => drop());

notifications(
  'are sent while someone listens, and to no channel without a listener',
  async ({ connection }) => {
    const orm = await openDatabase(connection);
    const notify = () => sql`select ${notifyListeners('things')}`.execute(kysely(orm.em.fork()));
    // Hears what is sent, and does not count as a listener.
    const witness = await openUnlimitedSession(connection);
    let sent: (string | undefined)[] = [];
    witness.on('notification', ({ payload }) => sent.push(payload));
    await witness.query('listen things');
    /** @returns how many notifications one change sends */
    const countSent = async (): Promise<number> => {
      sent = [];
      await notify();
      await witness.query(`notify things, 'mark'`);
      await until('the mark', () => sent.includes('mark'));
      return sent.length - 1;
    };
    let heard = 0;
    const listen = async (channel: string) => {
      const onHeard = () => {
        heard += channel === 'things' ? 1 : 0;
      };
      const listener = listenToDatabase({ connection, channel, fallback: '', warn: () => {}, onHeard });
      await until(`${channel} has a listener`, listener.isListening);
      return listener;
    };

    assert.is(await countSent(), 0);
    const other = await listen('others');
    assert.is(await countSent(), 0);
    const [first, second] = [await listen('things'), await listen('things')];
    const before = heard;
    assert.is(await countSent(), 1);
    // The mark, too.
    await until('both have heard it', () => heard >= before + 4);
    await first.close();
    assert.is(await countSent(), 1);
    await second.close();
    assert.is(await countSent(), 0);
    await other.close();
    await witness.end();
    await orm.close(true);
  },
);

/** Forwards connections. Once the second one begins, the first one brings nothing from the server until its client sends something. */
const startSlowProxy = async (connection: Connection) => {
  const connections: { client: Socket; upstream: Socket }[] = [];
  const proxy = createServer((client) => {
    const upstream = connectToDatabase(connection);
    client.on('error', () => upstream.destroy()).pipe(upstream);
    upstream.on('error', () => client.destroy()).on('data', (chunk) => client.write(chunk));
    upstream.on('end', () => client.end());
    connections.push({ client, upstream });
    const [first] = connections;
    if (connections.length !== 2 || !first) return;
    first.upstream.pause();
    first.client.once('data', () => first.upstream.resume());
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address() as AddressInfo; // of a TCP server
  return { port: address.port, [Symbol.dispose]: () => void proxy.close() };
};

notifications('arrive although the first one comes late', async ({ connection }) => {
  using proxy = await startSlowProxy(connection);
  const warnings: string[] = [];
  const listener = listenToDatabase({
    connection: { ...connection, host: '127.0.0.1', port: proxy.port },
    channel: 'things',
    fallback: '',
    onHeard: () => {},
    warn: (line) => warnings.push(line),
    deliveryMs: 20,
  });
  await until('it listens, or has given up', () => listener.isListening() || warnings.length > 0);
  await listener.close();

  assert.equal(warnings, []);
});

notifications.run();
