import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import * as assert from 'uvu/assert';
import { createS3BackupStore } from '../../src/adapters/backup-store/s3-backup-store.ts';
import { BackupStoreError } from '../../src/lib/errno.ts';
import { KEYS } from '../support/environment.ts';
import { BUCKET, type S3Server, setCredentials, startS3Server } from '../support/s3-server.ts';
import { suiteWith } from '../support/suite.ts';

const NAME = 'steward-20260301T120000Z-0a1b2c.tar';
/** Three parts of a multipart upload. */
const LARGE_BYTES = 35 * 1024 * 1024;
const CHUNK = Buffer.alloc(64 * 1024, 'steward');

const stores = suiteWith('S3 backup store', async (started) => {
  setCredentials();
  return { server: started.use(await startS3Server()) };
});
stores.before.each(({ server }) => {
  server.requests.length = 0;
  Object.assign(server.conduct, { fault: null, affects: undefined });
});

const openStore = ({ endpoint }: S3Server, prefix = 'backups') =>
  createS3BackupStore(
    { bucket: BUCKET, prefix, endpoint, region: 'us-east-1', pathStyle: true },
    { connectMs: 3000, silenceMs: 2000 },
  );

const bytes = function* (total: number) {
  for (let sent = 0; sent < total; sent += CHUNK.length) yield CHUNK;
};

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

stores('writes a large backup in parts, and reads the same bytes', async ({ server }) => {
  const store = openStore(server);

  const size = await store.write(NAME, (target) => pipeline(Readable.from(bytes(LARGE_BYTES)), target));
  const content = await buffer(await store.open(NAME));

  assert.is(size, LARGE_BYTES);
  assert.is(await store.sizeOf(NAME), LARGE_BYTES);
  assert.equal(await store.list(), [NAME]);
  assert.ok(content.equals(Buffer.concat([...bytes(LARGE_BYTES)])));
  assert.is(server.requests.filter((request) => request.includes('partNumber=')).length, 3);
  assert.equal(await server.keys(), [`backups/${NAME}`]);
  await store.remove(NAME);
  assert.is(await store.sizeOf(NAME), null);
});

stores('leaves nothing when its source fails after some parts, and aborts the upload', async ({ server }) => {
  const broken = new Error('the database went away');
  const failing = function* () {
    yield* bytes(LARGE_BYTES);
    throw broken;
  };

  const failure = await failureOf(
    openStore(server).write(NAME, (target) => pipeline(Readable.from(failing()), target)),
  );

  assert.is(failure, broken);
  assert.equal(await server.keys(), []);
  assert.ok(server.requests.some((request) => /^DELETE .*uploadId=/.test(request)));
  assert.not.ok(server.requests.some((request) => /^POST .*\?uploadId=/.test(request)));
});

stores('fails in one line when the server refuses a part, and ends its source', async ({ server }) => {
  Object.assign(server.conduct, {
    fault: 'AccessDenied',
    affects: (method: string) => method === 'PUT',
  });
  let isEnded = false;
  const source = Readable.from(bytes(LARGE_BYTES)).on('close', () => {
    isEnded = true;
  });

  const failure = await failureOf(openStore(server).write(NAME, (target) => pipeline(source, target)));

  assert.instance(failure, BackupStoreError);
  const { message } = failure as BackupStoreError; // asserted above
  assert.match(message, /^s3:\/\/packages\/backups\/.*\.tar cannot be written: AccessDenied \(status 403/);
  for (const secret of Object.values(KEYS)) assert.not.ok(message.includes(secret));
  assert.ok(isEnded);
  assert.equal(await server.keys(), []);
});

stores('fails when the connection breaks while a backup is read', async ({ server }) => {
  const store = openStore(server, '');
  await store.write(NAME, (target) => pipeline(Readable.from(bytes(1024 * 1024)), target));
  Object.assign(server.conduct, {
    fault: 'breaks',
    affects: (_method: string, path: string) => path.endsWith('.tar'),
  });

  const failure = await failureOf(buffer(await store.open(NAME)));

  assert.instance(failure, BackupStoreError);
  assert.match(String(failure), /s3:\/\/packages\/steward-.*\.tar cannot be read/);
  Object.assign(server.conduct, { fault: null });
  await store.remove(NAME);
});

stores('says that a backup does not exist', async ({ server }) => {
  const failure = await failureOf(openStore(server).open(NAME));

  assert.match(String(failure), /s3:\/\/packages\/backups\/.* does not exist/);
});

stores.run();
