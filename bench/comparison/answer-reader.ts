const CRLF = '\r\n';
const END_OF_HEAD = '\r\n\r\n';
const NOTHING: Buffer = Buffer.alloc(0);

/** What is kept of an answer; `body` only where it was asked for. */
export type Answer = { status: number; bytes: number; closes: boolean; body: Buffer };

type Events = { onFirstByte: () => void; onAnswer: (answer: Answer) => void };

/**
 * Reads HTTP/1.1 answers from one connection (RFC 9112 §6, §7.1), as much of them as a measurement needs: it finds their
 * end, and does not look at what is in between. Returns what is to be fed with the bytes that arrive.
 */
export const createAnswerReader = ({ onFirstByte, onAnswer }: Events, keepsBodies = false) => {
  let unread = NOTHING;
  let answer: Answer | null = null;
  let parts: Buffer[] = [];
  /** Of the body or of its chunk. */
  let bytesLeft = 0;
  let isChunked = false;
  let isLastChunk = false;

  const finish = (): void => {
    if (!answer) return;
    const finished = { ...answer, body: Buffer.concat(parts) };
    answer = null;
    parts = [];
    onAnswer(finished);
  };

  const readHead = (head: string): void => {
    onFirstByte();
    answer = {
      status: Number(head.slice(9, 12)),
      bytes: 0,
      closes: /\r\nconnection: *close/i.test(head),
      body: NOTHING,
    };
    isChunked = /\r\ntransfer-encoding: *chunked/i.test(head);
    isLastChunk = false;
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (!isChunked && length === undefined) throw new Error(`An answer of unknown length: ${head}`);
    bytesLeft = isChunked ? 0 : Number(length);
    if (!isChunked && bytesLeft === 0) finish();
  };

  /** The size of a chunk, the empty line behind one, or what follows the last one. */
  const readChunkLine = (line: string): void => {
    if (isLastChunk && line === '') finish();
    if (isLastChunk || line === '') return;
    bytesLeft = Number.parseInt(line, 16);
    if (Number.isNaN(bytesLeft)) throw new Error(`A chunk of unknown size: ${line}`);
    isLastChunk = bytesLeft === 0;
  };

  return (chunk: Buffer): void => {
    const input = unread.length > 0 ? Buffer.concat([unread, chunk]) : chunk;
    unread = NOTHING;
    let at = 0;
    while (at < input.length) {
      if (answer && bytesLeft > 0) {
        const part = input.subarray(at, at + bytesLeft);
        if (keepsBodies) parts.push(part);
        answer.bytes += part.length;
        bytesLeft -= part.length;
        at += part.length;
        if (bytesLeft === 0 && !isChunked) finish();
        continue;
      }
      const mark = answer ? CRLF : END_OF_HEAD;
      const end = input.indexOf(mark, at, 'latin1');
      if (end < 0) {
        unread = input.subarray(at);
        return;
      }
      const text = input.toString('latin1', at, end);
      at = end + mark.length;
      if (answer) readChunkLine(text);
      else readHead(text);
    }
  };
};
