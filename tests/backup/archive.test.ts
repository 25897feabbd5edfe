import { Writable } from 'node:stream';
import * as assert from 'uvu/assert';
import { writeArchive } from '../../src/backup/archive.ts';
import { suite } from '../support/suite.ts';

const archives = suite('archives');

async function* files() {
  for (let number = 0; number < 6; number += 1)
    yield { path: `${number}.copy`, content: Buffer.alloc(number * 9_000) };
}

/** Fails with this error at the chunk of this number, or a moment later. */
const targetThatFails = (error: Error, chunk: number, isLater: boolean) => {
  let left = chunk;
  return new Writable({
    ...(isLater && { highWaterMark: 10 }),
    write: (_chunk, _encoding, done) => {
      left -= 1;
      const end = () => done(left < 0 ? error : null);
      if (isLater) setImmediate(end);
      else end();
    },
  });
};

archives('fail with the error of their target, wherever it comes, and end no process', async () => {
  for (const isLater of [true, false])
    for (let chunk = 0; chunk < 12; chunk += 1) {
      const full = new Error('ENOSPC: no space left on device, write');
      const written = writeArchive(targetThatFails(full, chunk, isLater), files(), () => ({}));

      assert.is(await written.catch((error: unknown) => error), full, `chunk ${chunk}, later: ${isLater}`);
    }
  // What a stream emits late would end the process here.
  await new Promise(setImmediate);
});

archives('fail with the error of their files', async () => {
  const lost = new Error('Connection terminated');
  const broken = async function* () {
    yield* files();
    throw lost;
  };
  const target = new Writable({ write: (_chunk, _encoding, done) => setImmediate(done) });

  const written = writeArchive(target, broken(), () => ({}));

  assert.is(await written.catch((error: unknown) => error), lost);
  assert.ok(target.destroyed);
});

archives.run();
