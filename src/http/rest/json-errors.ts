import { setImmediate as nextTurn } from 'node:timers/promises';
import { Tokenizer, TokenizerError, TokenParser } from '@streamparser/json';

/** Takes about 5 ms. */
const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** The library gives the position only in its message. */
const POSITION = /absolute position "(\d+)"/;

/**
 * Describes where a body stops being JSON: `unexpected character in line 3, column 15`. `JSON.parse` names a position only for
 * some errors, and otherwise quotes the body, which may contain secrets. Large bodies do not block the event loop.
 * @param bytes UTF-8 that `JSON.parse` refuses
 * @returns null if no error is found
 */
export const describeJsonError = async (bytes: Buffer): Promise<string | null> => {
  const { offset, isComplete } = await findError(bytes);
  if (offset !== null) return `unexpected character in ${lineAndColumn(bytes, offset)}`;
  return isComplete ? null : `it ends too early, in ${lineAndColumn(bytes, bytes.length)}`;
};

const findError = async (bytes: Buffer) => {
  let offset: number | null = null;
  let tokenOffset = 0;
  let hasFailed = false;
  const tokenizer = new Tokenizer();
  // Only the structure matters: values are not kept.
  const parser = new TokenParser({ paths: [], keepStack: false });
  parser.onValue = () => {};
  tokenizer.onToken = (token) => {
    tokenOffset = token.offset;
    parser.write(token);
  };
  tokenizer.onError = (error) => {
    hasFailed = true;
    const position = POSITION.exec(error.message)?.[1];
    if (position !== undefined) offset = Number(position);
    // The parser refused a token; at the end of the body, the tokenizer fails without a position.
    else if (!(error instanceof TokenizerError)) offset = tokenOffset;
  };
  for (let start = 0; start < bytes.length && !hasFailed; start += CHUNK_BYTES) {
    if (start > 0) await nextTurn();
    tokenizer.write(bytes.subarray(start, start + CHUNK_BYTES));
  }
  if (!hasFailed) tokenizer.end();
  return { offset, isComplete: parser.isEnded && !hasFailed };
};

/** Both count from 1, columns in characters. */
const lineAndColumn = (bytes: Buffer, offset: number): string => {
  let line = 1;
  let lineStart = 0;
  for (
    let index = bytes.indexOf(NEWLINE);
    index !== -1 && index < offset;
    index = bytes.indexOf(NEWLINE, index + 1)
  ) {
    line += 1;
    lineStart = index + 1;
  }
  return `line ${line}, column ${bytes.toString('utf8', lineStart, offset).length + 1}`;
};
