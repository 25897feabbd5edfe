import { Writable } from 'node:stream';
import * as assert from 'uvu/assert';
import { writeArchive } from '../../src/backup/archive.ts';
import { suite } from '../support/suite.ts';

const archives = suite('archives');

async function* files() {
  for (let number = 0; number < 6; number += 1)
    yield { path: `${number}.copy`, content: Buffer.alloc(number * 9_000) };
}

/** Fails with this error at the chunk of this number. */
const targetThatFails = (error: Error, chunk: number) => {
  let left = chunk;
  return new Writable({
    highWaterMark: 10,
    write: (_chunk, _encoding, done) => {
      left -= 1;
      setImmediate(() => done(left < 0 ? error : null));
    },
  });
};

archives('fail with the error of their target, wherever it comes, and end no process', async () => {
  for (let chunk = 0; chunk < 12; chunk += 1) {
    const full = new Error('ENOSPC: no space left on device, write');
    const written = writeArchive(targetThatFails(full, chunk), files(), () => ({}));

    assert.is(await written.catch((error: unknown) => error), full, `chunk ${chunk}`);
  }
  // What a stream emits late would end the process here.
  await new Promise(setImmediate);
});

archives.run();
