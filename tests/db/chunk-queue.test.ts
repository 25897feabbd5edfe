import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ChunkQueue } from '../../src/db/json-stream/chunk-queue.ts';
import type { JsonChunk } from '../../src/db/json-stream/json-stream.ts';

const queues = suite('queues of pieces');

const piece = (text: string): JsonChunk => ({
  text: Buffer.from(text),
  isLast: false,
  first: null,
  release: () => undefined,
});
const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
  let settled = false;
  promise.finally(() => (settled = true)).catch(() => undefined);
  await new Promise(setImmediate);
  return settled;
};

queues('give pieces in their order, also to who waits', async () => {
  const queue = new ChunkQueue();
  const waiting = queue.take();
  assert.not(await isSettled(waiting));
  queue.add(piece('a'));
  queue.add(piece('b'));

  assert.is(`${(await waiting).text}`, 'a');
  assert.is(`${(await queue.take()).text}`, 'b');
});

queues('tell a failure when what came before it has been taken', async () => {
  const queue = new ChunkQueue();
  queue.add(piece('a'));
  queue.fail(new RangeError('no more'));

  assert.is(`${(await queue.take()).text}`, 'a');
  const [outcome] = await Promise.allSettled([queue.take()]);
  assert.match(String(outcome.status === 'rejected' && outcome.reason), /no more/);
});

queues('want more when two are left', async () => {
  const queue = new ChunkQueue();
  for (const text of ['a', 'b', 'c', 'd']) queue.add(piece(text));
  const wanted = queue.isWanted();
  await queue.take();
  assert.not(await isSettled(wanted));
  await queue.take();

  assert.is(await wanted, true);
});

queues('want nothing once they are closed', async () => {
  const queue = new ChunkQueue();
  for (const text of ['a', 'b', 'c', 'd']) queue.add(piece(text));
  const wanted = queue.isWanted();
  queue.close();

  assert.is(await wanted, false);
});

queues('that are not read ahead want a piece when somebody waits for it', async () => {
  const queue = new ChunkQueue(() => false);
  const wanted = queue.isWanted();
  assert.not(await isSettled(wanted));
  const taken = queue.take();
  assert.is(await wanted, true);
  queue.add(piece('a'));
  assert.not(queue.isReadOn());
  await taken;

  assert.not(await isSettled(queue.isWanted()));
});

queues.run();
