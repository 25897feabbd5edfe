import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RowFilter } from '../../src/db/row-filter.ts';

const filters = suite('RowFilter');

const messageOf = (type: string, content: Buffer): Buffer => {
  const header = Buffer.alloc(5, type);
  header.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([header, content]);
};

/** As a socket that reads into one buffer: each chunk is overwritten afterwards. */
const send = (filter: RowFilter, bytes: Buffer, ends: readonly number[]): void => {
  const cuts = [0, ...ends.map((end) => end % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  for (const [index, start] of cuts.entries()) {
    const chunk = Buffer.from(bytes.subarray(start, cuts[index + 1]));
    filter.add(chunk);
    chunk.fill(0xff);
  }
};

const collecting = (passed: Buffer[]): RowFilter =>
  new RowFilter({
    pass: (bytes) => passed.push(Buffer.from(bytes)),
    refuse: () => assert.unreachable('a message was refused'),
  });

const anyMessages = fc.array(
  fc.record({
    type: fc.constantFrom('D', 'T', 'C', 'd', 'Z'),
    content: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  }),
  { maxLength: 20 },
);

filters('takes the rows and passes on the rest, however the bytes arrive', () => {
  fc.assert(
    fc.property(anyMessages, fc.array(fc.nat()), (messages, ends) => {
      const rows: Buffer[] = [];
      const passed: Buffer[] = [];
      const filter = collecting(passed);
      filter.takeRow = (bytes, start, end) => rows.push(Buffer.from(bytes.subarray(start, end)));
      const all = messages.map(({ type, content }) => messageOf(type, content));
      send(filter, Buffer.concat(all), ends);

      const isRow = (index: number) => messages[index]?.type === 'D';
      assert.equal(
        rows,
        messages.filter((_, index) => isRow(index)).map(({ content }) => content),
      );
      assert.equal(Buffer.concat(passed), Buffer.concat(all.filter((_, index) => !isRow(index))));
    }),
  );
});

filters('passes on everything while no rows are taken', () => {
  fc.assert(
    fc.property(anyMessages, fc.array(fc.nat()), (messages, ends) => {
      const passed: Buffer[] = [];
      const filter = collecting(passed);
      const bytes = Buffer.concat(messages.map(({ type, content }) => messageOf(type, content)));
      send(filter, bytes, ends);

      assert.equal(Buffer.concat(passed), bytes);
    }),
  );
});

filters('takes the rows that follow a message which was under way', () => {
  const rows: string[] = [];
  const filter = collecting([]);
  const bytes = Buffer.concat([messageOf('N', Buffer.from('a notice')), messageOf('D', Buffer.from('row'))]);
  filter.add(bytes.subarray(0, 7));
  filter.takeRow = (given, start, end) => rows.push(given.toString('latin1', start, end));
  filter.add(bytes.subarray(7));

  assert.equal(rows, ['row']);
});

filters.run();
