import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createKeyedMutex } from '../../src/lib/keyed-mutex.ts';

const keyedMutex = suite('keyedMutex');

/** A work that notes when it begins and ends, and goes on when it is let. */
const work = (notes: string[], name: string) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const run = async (): Promise<string> => {
    notes.push(`${name} begins`);
    await promise;
    notes.push(`${name} ends`);
    return name;
  };
  return { run, finish: resolve };
};

keyedMutex('take works of one name one by one, in their order, and others meanwhile', async () => {
  const inTurn = createKeyedMutex();
  const notes: string[] = [];
  const [a, b, c] = [work(notes, 'a'), work(notes, 'b'), work(notes, 'c')];
  const all = [inTurn('x', a.run), inTurn('x', b.run), inTurn('y', c.run)];
  b.finish();
  c.finish();
  assert.is(await all[2], 'c');
  assert.equal(notes, ['a begins', 'c begins', 'c ends']);

  a.finish();
  assert.equal(await Promise.all(all), ['a', 'b', 'c']);
  assert.equal(notes.slice(3), ['a ends', 'b begins', 'b ends']);
});

keyedMutex('go on after a failure, which is told to whom it happened alone', async () => {
  const inTurn = createKeyedMutex();
  const fail = async (): Promise<string> => {
    throw new Error('mine');
  };
  const [failed, done] = await Promise.allSettled([inTurn('x', fail), inTurn('x', async () => 'done')]);

  assert.is(failed.status, 'rejected');
  assert.equal(done, { status: 'fulfilled', value: 'done' });
});

keyedMutex.run();
