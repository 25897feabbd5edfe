import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, createAnswerReader } from '../../bench/comparison/answer-reader.ts';

const reading = suite('bench: reading answers');

type Told = Omit<Answer, 'body'> & { text: string };

const read = (pieces: readonly Buffer[], keepsBodies = true): { answers: Told[]; firstBytes: number } => {
  const answers: Told[] = [];
  let firstBytes = 0;
  const feed = createAnswerReader(
    {
      onFirstByte: () => {
        firstBytes += 1;
      },
      onAnswer: ({ body, ...answer }) => answers.push({ ...answer, text: body.toString() }),
    },
    keepsBodies,
  );
  for (const piece of pieces) feed(piece);
  return { answers, firstBytes };
};

const SIZED = 'HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX-Other: 1\r\n\r\n{"a":1}';
const CHUNKED =
  'HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n5\r\nhel\r\n\r\nC;x=y\r\nlo, my world\r\n0\r\ntrailer: 1\r\n\r\n';
const EMPTY = 'HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n';
const EXPECTED: Told[] = [
  { status: 200, bytes: 7, closes: false, text: '{"a":1}' },
  { status: 201, bytes: 17, closes: true, text: 'hel\r\nlo, my world' },
  { status: 204, bytes: 0, closes: false, text: '' },
];

reading('finds the ends of answers, by length and by chunks', () => {
  assert.equal(read([Buffer.from(SIZED + CHUNKED + EMPTY)]), { answers: EXPECTED, firstBytes: 3 });
});

reading('finds them wherever the network has cut', () => {
  const whole = Buffer.from(SIZED + CHUNKED + EMPTY);
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: whole.length - 1 })), (cuts) => {
      const ends = [...cuts.toSorted((a, b) => a - b), whole.length];
      const pieces = ends.map((end, index) => whole.subarray(ends[index - 1] ?? 0, end));
      assert.equal(read(pieces).answers, EXPECTED);
    }),
  );
});

reading('counts what it does not keep', () => {
  const [answer] = read([Buffer.from(CHUNKED)], false).answers;

  assert.equal([answer?.bytes, answer?.text], [17, '']);
});

reading('refuses an answer without an end', () => {
  assert.throws(() => read([Buffer.from('HTTP/1.1 200 OK\r\n\r\n')]), /unknown length/);
  assert.throws(
    () => read([Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nno number\r\n')]),
    /unknown size/,
  );
});

reading.run();
