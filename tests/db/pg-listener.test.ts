import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { openUnlimitedSession } from '../../src/db/client.ts';
import { openDatabase } from '../../src/db/database.ts';
import { kysely } from '../../src/db/kysely.ts';
import { listenToDatabase, notifyListeners } from '../../src/db/pg-listener.ts';
import { suite } from '../support/suite.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { until } from '../support/time.ts';

type Context = Awaited<ReturnType<typeof createTestDatabase>>;
const notifications = suite<Context>('notifications of the database');

notifications.before(async (context) => {
  Object.assign(context, await createTestDatabase('empty'));
});
notifications.after(({ drop }) => drop());

notifications('are sent while someone listens, and to no channel without a listener', async (context) => {
  const { connection } = context;
  const orm = await openDatabase(connection);
  const notify = () => sql`select ${notifyListeners('things')}`.execute(kysely(orm.em.fork()));
  // Hears what is sent, and does not count as a listener.
  const witness = await openUnlimitedSession(connection);
  const sent: (string | undefined)[] = [];
  witness.on('notification', ({ payload }) => sent.push(payload));
  await witness.query('listen things');
  let heard = 0;
  const listen = () =>
    listenToDatabase({
      connection,
      channel: 'things',
      fallback: '',
      warn: assert.unreachable,
      onHeard: () => (heard += 1),
    });

  await Promise.all([notify(), notify()]);
  await notify();
  const other = listenToDatabase({
    connection,
    channel: 'others',
    fallback: '',
    warn: assert.unreachable,
    onHeard: () => {},
  });
  await until('another channel has a listener', other.isListening);
  await notify();
  const [first, second] = [listen(), listen()];
  await until('both have begun', () => heard === 2);
  const before = sent.length;
  await notify();
  await until('both have heard it', () => heard === 4);
  await first.close();
  await notify();
  await until('the other one has heard it', () => heard === 5);
  await Promise.all([second.close(), other.close()]);
  await notify();
  await witness.query(`notify things, 'the end'`);
  await until('the end', () => sent.includes('the end'));

  // Each listener has begun with one of its own; two changes at the same moment may notify in vain.
  assert.ok(before <= 3, String(before));
  assert.is(sent.length, before + 3);
  await witness.end();
  await orm.close(true);
});

notifications.run();
