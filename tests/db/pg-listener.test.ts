import { sql } from 'kysely';
import * as assert from 'uvu/assert';
import { openUnlimitedSession } from '../../src/db/client.ts';
import { openDatabase } from '../../src/db/database.ts';
import { kysely } from '../../src/db/kysely.ts';
import { notifyListeners } from '../../src/db/notifications.ts';
import { listenToDatabase } from '../../src/db/pg-listener.ts';
import { suiteWith } from '../support/suite.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { until } from '../support/time.ts';

const notifications = suiteWith('notifications of the database', async (started) => {
  const { connection, drop } = await createTestDatabase('empty');
  started.defer(drop);
  return { connection };
});

notifications('are sent while someone listens, and to no other channel', async ({ connection }) => {
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
});

notifications.run();
