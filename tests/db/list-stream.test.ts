import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ListChunk, type OpenList, streamList } from '../../src/db/list-stream.ts';
import type { ReadTextRows } from '../../src/db/text-rows.ts';

const streams = suite('streamList');

const TOTAL = 5_000;

/** Reads the numbers after `parameters[0]`, up to `parameters[1]` of them. */
const numbersUpTo =
  (total: number, pages: number[] = []): ReadTextRows =>
  async ({ parameters: [after, limit] }, onRow) => {
    pages.push(Number(limit));
    const end = Math.min(total, Number(after) + Number(limit));
    for (let n = Number(after) + 1; n <= end; n += 1) onRow([String(n)]);
  };
const listOf = (bytesOf: (n: number) => number): OpenList => ({
  statement: (after, limit) => ({ sql: '', parameters: [after?.[0] ?? 0, limit] }),
  start: '[',
  separator: ',',
  end: ']',
  encode: ([n]) => `"${String(n).padEnd(bytesOf(Number(n)), 'x')}"`,
});
/** Opens the list again as it was, which happens once a second, so on a busy machine in any test. */
const stream = (readRows: ReadTextRows, list: OpenList) => streamList(readRows, list, async () => list);

const collect = async (chunks: AsyncIterable<ListChunk>): Promise<ListChunk[]> => {
  const all: ListChunk[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
};
const textOf = (chunks: readonly ListChunk[]): string =>
  Buffer.concat(chunks.map(({ text }) => text)).toString();
const numbersOf = (chunks: readonly ListChunk[]): number[] =>
  JSON.parse(textOf(chunks)).map((text: string) => Number.parseInt(text, 10));
const upTo = (total: number): number[] => Array.from({ length: total }, (_, index) => index + 1);

for (const [name, bytesOf] of Object.entries({
  small: () => 4,
  'of usual size': () => 500,
  'of mixed sizes': (n: number) => (n % 97) ** 2,
})) {
  streams(`returns each row once and in order: rows that are ${name}`, async () => {
    for (const total of [0, 1, 250, 251, TOTAL]) {
      const chunks = await collect(stream(numbersUpTo(total), listOf(bytesOf)));

      assert.equal(numbersOf(chunks), upTo(total));
      assert.equal(
        chunks.map(({ isLast }) => isLast),
        chunks.map((_, index) => index === chunks.length - 1),
      );
    }
  });
}

streams('returns a short list as one chunk', async () => {
  const [chunk, ...rest] = await collect(
    stream(
      numbersUpTo(2),
      listOf(() => 1),
    ),
  );

  assert.is(`${chunk?.text}`, '["1","2"]');
  assert.equal(rest, []);
});

streams('limits chunks to what is encoded in one tick, give or take a row', async () => {
  const chunks = await collect(
    stream(
      numbersUpTo(TOTAL),
      listOf(() => 500),
    ),
  );

  assert.ok(Math.max(...chunks.map(({ text }) => text.length)) <= 129 * 1024);
});

streams('asks for fewer rows where rows are large', async () => {
  const [small, large]: number[][] = [[], []];
  await collect(
    stream(
      numbersUpTo(TOTAL, small),
      listOf(() => 100),
    ),
  );
  await collect(
    stream(
      numbersUpTo(500, large),
      listOf(() => 64 * 1024),
    ),
  );

  assert.equal(small?.slice(0, 2), [250, 2_000]);
  assert.equal(large?.slice(0, 2), [250, 10]);
});

streams('limits the bytes of a page, and reads the rows beyond again', async () => {
  const pages: number[] = [];
  const rowBytes = 64 * 1024;
  const list = listOf(() => rowBytes);
  const chunks = await collect(stream(numbersUpTo(250, pages), list));

  assert.equal(numbersOf(chunks), upTo(250));
  const inFirstPage = 250 - 10 * (pages.length - 1);
  assert.ok(inFirstPage * rowBytes <= 1.2 * 1024 * 1024, `${inFirstPage} rows`);
});

streams('reads one page ahead, and only for the first eight lists', async () => {
  const opened = upTo(10).map(() => {
    const pages: number[] = [];
    return {
      pages,
      chunks: stream(
        numbersUpTo(TOTAL, pages),
        listOf(() => 500),
      ),
    };
  });
  for (const { chunks } of opened) await chunks.next();

  assert.equal(
    opened.map(({ pages }) => pages.length),
    [2, 2, 2, 2, 2, 2, 2, 2, 1, 1],
  );
  await Promise.all(opened.map(({ chunks }) => chunks.return(undefined)));
});

streams('reads no further when its reader leaves, and makes room for another list', async () => {
  const pages: number[] = [];
  for (const _ of upTo(20)) {
    const chunks = stream(
      numbersUpTo(TOTAL, pages),
      listOf(() => 500),
    );
    await chunks.next();
    await chunks.return(undefined);
  }

  assert.is(pages.length, 40);
});

streams('makes room for another list with its last chunk', async () => {
  const short = () =>
    stream(
      numbersUpTo(1),
      listOf(() => 1),
    );
  for (const _ of upTo(20)) assert.is((await short().next()).value?.isLast, true);
  const pages: number[] = [];
  const chunks = stream(
    numbersUpTo(TOTAL, pages),
    listOf(() => 500),
  );
  await chunks.next();

  assert.is(pages.length, 2);
  await chunks.return(undefined);
});

streams('reads a page again after it was outdated', async () => {
  let isOutdated = false;
  let openings = 0;
  const reopen = async () => {
    isOutdated = false;
    openings += 1;
    return list;
  };
  const list: OpenList = { ...listOf(() => 500), isOutdated: () => isOutdated };
  const { encode } = list;
  list.encode = (row) => {
    if (row[0] === '700' && openings === 0) isOutdated = true;
    return encode(row);
  };
  const chunks = await collect(streamList(numbersUpTo(TOTAL), list, reopen));

  assert.is(openings, 1);
  assert.equal(numbersOf(chunks), upTo(TOTAL));
});

streams('fails after the pages before the failure', async () => {
  const read = numbersUpTo(TOTAL);
  const failing: ReadTextRows = (statement, onRow) =>
    statement.parameters[0] === 0 ? read(statement, onRow) : Promise.reject(new RangeError('no more'));
  const chunks = stream(
    failing,
    listOf(() => 10),
  );

  assert.is((await chunks.next()).value?.isLast, false);
  const [outcome] = await Promise.allSettled([chunks.next()]);
  assert.match(String(outcome.status === 'rejected' && outcome.reason), /no more/);
});

streams('starts with a header and ends without a mark, as CSV does', async () => {
  const csv = { ...listOf(() => 1), start: 'n\n', separator: '\n', end: '' };
  const texts = [];
  for (const total of [0, 2]) texts.push(textOf(await collect(stream(numbersUpTo(total), csv))));

  assert.equal(texts, ['n\n', 'n\n"1"\n"2"']);
});

streams.run();
