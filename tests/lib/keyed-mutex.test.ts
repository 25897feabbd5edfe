import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createTurns } from '../../src/lib/keyed-mutex.ts';

const turns = suite('turns');

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

turns('take works of one name one by one, in their order, and others meanwhile', async () => {
  const inTurn = createTurns();
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

turns('go on after a failure, which is told to whom it happened alone', async () => {
  const inTurn = createTurns();
  const fail = async (): Promise<string> => {
    throw new Error('mine');
  };
  const [failed, done] = await Promise.allSettled([inTurn('x', fail), inTurn('x', async () => 'done')]);

  assert.is(failed.status, 'rejected');
  assert.equal(done, { status: 'fulfilled', value: 'done' });
});

turns.run();
