import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createBatchLoader } from '../../src/lib/batch-loader.ts';

const batchLoader = suite('createBatchLoader');

/** A `load` function that records its batches. The test resolves or rejects them. */
const createLoad = () => {
  const batches: { keys: readonly string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  const load = (keys: readonly string[]): Promise<Map<string, string>> => {
    const { promise, resolve, reject } = Promise.withResolvers<Map<string, string>>();
    const found = keys.filter((key) => !key.startsWith('no')).map((key) => [key, `${key}!`] as const);
    batches.push({ keys, answer: () => resolve(new Map(found)), fail: reject });
    return promise;
  };
  return { batches, batchedKeys: () => batches.map(({ keys }) => keys), load };
};

const nextTick = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

batchLoader('loads all keys of one tick in one batch, and returns to each caller its value', async () => {
  const { batches, batchedKeys, load } = createLoad();
  const loadOne = createBatchLoader(load);
  const answers = Promise.all([loadOne('a'), loadOne('b'), loadOne('a'), loadOne('none')]);
  await nextTick();

  assert.equal(batchedKeys(), [['a', 'b', 'none']]);
  batches[0]?.answer();
  assert.equal(await answers, ['a!', 'b!', 'a!', undefined]);
});

batchLoader('starts a new batch for keys that arrive during another one, two at a time', async () => {
  const { batches, batchedKeys, load } = createLoad();
  const loadOne = createBatchLoader(load);
  const answers: Promise<string | undefined>[] = [];
  for (const key of ['a', 'b', 'c', 'd']) {
    answers.push(loadOne(key));
    await nextTick();
  }
  assert.equal(batchedKeys(), [['a'], ['b']]);

  batches[1]?.answer();
  await nextTick();
  assert.equal(batchedKeys(), [['a'], ['b'], ['c', 'd']]);
  for (const { answer } of batches) answer();
  assert.equal(await Promise.all(answers), ['a!', 'b!', 'c!', 'd!']);
});

batchLoader('rejects all calls of a failed batch, and no others', async () => {
  const { batches, load } = createLoad();
  const loadOne = createBatchLoader(load);
  const failed = Promise.allSettled([loadOne('a'), loadOne('b')]);
  await nextTick();
  const later = loadOne('a');
  await nextTick();
  batches[0]?.fail(new Error('away'));
  batches[1]?.answer();

  assert.equal(
    (await failed).map((outcome) => outcome.status),
    ['rejected', 'rejected'],
  );
  assert.is(await later, 'a!');
  assert.is(batches.length, 2);
});

batchLoader('loads at most 500 keys per batch', async () => {
  const sizes: number[] = [];
  const loadOne = createBatchLoader(async (keys: readonly number[]) => {
    sizes.push(keys.length);
    return new Map(keys.map((key) => [key, -key]));
  });
  const keys = Array.from({ length: 1_201 }, (_, index) => index + 1);

  assert.equal(
    await Promise.all(keys.map((key) => loadOne(key))),
    keys.map((key) => -key),
  );
  assert.equal(sizes, [500, 500, 201]);
});

batchLoader.run();
