import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createKeyedLimit } from '../../src/lib/keyed-limit.ts';

const keyedLimit = suite('createKeyedLimit');

/** Work that records its begin and end. It ends after `finish`. */
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

keyedLimit('runs work with the same key in order, and other work concurrently', async () => {
  const oneAtATime = createKeyedLimit(1);
  const notes: string[] = [];
  const [a, b, c] = [work(notes, 'a'), work(notes, 'b'), work(notes, 'c')];
  const all = [oneAtATime('x', a.run), oneAtATime('x', b.run), oneAtATime('y', c.run)];
  b.finish();
  c.finish();
  assert.is(await all[2], 'c');
  assert.equal(notes, ['a begins', 'c begins', 'c ends']);

  a.finish();
  assert.equal(await Promise.all(all), ['a', 'b', 'c']);
  assert.equal(notes.slice(3), ['a ends', 'b begins', 'b ends']);
});

keyedLimit('continues after a failure, which only its caller receives', async () => {
  const oneAtATime = createKeyedLimit(1);
  const fail = async (): Promise<string> => {
    throw new Error('mine');
  };
  const [failed, done] = await Promise.allSettled([
    oneAtATime('x', fail),
    oneAtATime('x', async () => 'done'),
  ]);

  assert.is(failed.status, 'rejected');
  assert.equal(done, { status: 'fulfilled', value: 'done' });
});

keyedLimit('drops work that has waited for too long, and continues with the rest', async () => {
  const notes: string[] = [];
  const [a, b] = [work(notes, 'a'), work(notes, 'b')];
  b.finish();
  const oneAtATime = createKeyedLimit(1, { maxWait: { ms: 5, failure: () => new Error('too long') } });
  const first = oneAtATime('x', a.run);
  const [dropped] = await Promise.allSettled([oneAtATime('x', b.run)]);
  a.finish();

  assert.is(dropped.status, 'rejected');
  assert.is(await first, 'a');
  assert.is(await oneAtATime('x', b.run), 'b');
  assert.equal(notes, ['a begins', 'a ends', 'b begins', 'b ends']);
});

keyedLimit.run();
