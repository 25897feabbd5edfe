import { openDatabase } from '../../src/db/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openWorker } from './mail-fixtures.ts';

/** A mail worker that runs until SIGTERM. Its argument is JSON: the database connection and the worker's settings. */
const { connection, ...settings } = JSON.parse(process.argv[2] ?? '{}');
const orm = await openDatabase(connection);
const worker = openWorker({ em: orm.em, clock: systemClock, connection }, settings);
worker.start();
process.once('SIGTERM', async () => {
  await worker.stop();
  await orm.close(true);
});
process.stdout.write('works\n');
