import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/index.ts';

/** Runs the embedded database of the folder in its argument until it is killed. */
const [dataDir = ''] = process.argv.slice(2);
const { connection, stop } = await startEmbeddedPostgres({ dataDir });
process.once('SIGTERM', () => void stop());
process.stdout.write(`${JSON.stringify(connection)}\n`);
