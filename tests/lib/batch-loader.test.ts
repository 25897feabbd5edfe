import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createBatchLoader } from '../../src/lib/batch-loader.ts';

const gathering = suite('gathering');

/** Look-ups that note what they were asked for, and answer when they are let; a failing one fails. */
const createLookUps = () => {
  const lookUps: { keys: readonly string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  const load = (keys: readonly string[]): Promise<Map<string, string>> => {
    const { promise, resolve, reject } = Promise.withResolvers<Map<string, string>>();
    const found = keys.filter((key) => !key.startsWith('no')).map((key) => [key, `${key}!`] as const);
    lookUps.push({ keys, answer: () => resolve(new Map(found)), fail: reject });
    return promise;
  };
  return { lookUps, asked: () => lookUps.map(({ keys }) => keys), load };
};

const nextTurn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

gathering('asks once for all that ask in one turn, and tells each what is theirs', async () => {
  const { lookUps, asked, load } = createLookUps();
  const ask = createBatchLoader(load);
  const answers = Promise.all([ask('a'), ask('b'), ask('a'), ask('none')]);
  await nextTurn();

  assert.equal(asked(), [['a', 'b', 'none']]);
  lookUps[0]?.answer();
  assert.equal(await answers, ['a!', 'b!', 'a!', undefined]);
});

gathering('looks up anew for whoever asks while a look-up is under way, two at a time', async () => {
  const { lookUps, asked, load } = createLookUps();
  const ask = createBatchLoader(load);
  const answers: Promise<string | undefined>[] = [];
  for (const key of ['a', 'b', 'c', 'd']) {
    answers.push(ask(key));
    await nextTurn();
  }
  assert.equal(asked(), [['a'], ['b']]);

  lookUps[1]?.answer();
  await nextTurn();
  assert.equal(asked(), [['a'], ['b'], ['c', 'd']]);
  for (const { answer } of lookUps) answer();
  assert.equal(await Promise.all(answers), ['a!', 'b!', 'c!', 'd!']);
});

gathering('tells a failure to all who were part of it, and to nobody else', async () => {
  const { lookUps, load } = createLookUps();
  const ask = createBatchLoader(load);
  const failed = Promise.allSettled([ask('a'), ask('b')]);
  await nextTurn();
  const later = ask('a');
  await nextTurn();
  lookUps[0]?.fail(new Error('away'));
  lookUps[1]?.answer();

  assert.equal(
    (await failed).map((outcome) => outcome.status),
    ['rejected', 'rejected'],
  );
  assert.is(await later, 'a!');
  assert.is(lookUps.length, 2);
});

gathering('asks for no more than 500 at a time', async () => {
  const sizes: number[] = [];
  const ask = createBatchLoader(async (keys: readonly number[]) => {
    sizes.push(keys.length);
    return new Map(keys.map((key) => [key, -key]));
  });
  const keys = Array.from({ length: 1_201 }, (_, index) => index + 1);

  assert.equal(
    await Promise.all(keys.map((key) => ask(key))),
    keys.map((key) => -key),
  );
  assert.equal(sizes, [500, 500, 201]);
});

gathering.run();
