import { pipeline, type Readable, type TransformCallback } from 'node:stream';
import { JSONParser } from '@streamparser/json-node';
import { invalid, Problem } from '../../lib/problems.ts';

/** The most that one record may take: what is not yet a whole record is held in memory. */
const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** One element of a dump, whatever it is. */
export type DumpRecord = {
  /** its place in the file, from 1 */
  position: number;
  value: unknown;
};

/**
 * The elements of the JSON array that `manage.py dumpdata` writes, one after the other as the file arrives.
 * @param advance receives the number of bytes that have arrived since the last call
 * @throws Problem `invalid-input` on `file`, if it is not such an array; names the record
 */
export async function* readDump(
  source: Readable,
  advance: (bytes: number) => void = () => {},
): AsyncGenerator<DumpRecord> {
  const parser = new RecordParser(advance);
  try {
    // Whatever fails comes out of the parser.
    for await (const { key, value } of pipeline(source, parser, () => {})) {
      if (typeof key !== 'number') throw badFile('Must be a JSON array of records, as dumpdata writes it.');
      yield { position: key + 1, value };
    }
  } catch (error) {
    throw blame(error, parser.records);
  }
}

/** Counts at the parser itself, as records that are parsed may wait a while before they are read. */
class RecordParser extends JSONParser {
  /** parsed so far */
  records = 0;
  private pendingBytes = 0;
  private readonly advance: (bytes: number) => void;

  constructor(advance: (bytes: number) => void) {
    super({ paths: ['$.*'], keepStack: false });
    this.advance = advance;
  }

  override _transform(chunk: Buffer, encoding: BufferEncoding, done: TransformCallback): void {
    this.advance(chunk.length);
    this.pendingBytes += chunk.length;
    if (this.pendingBytes <= MAX_RECORD_BYTES) super._transform(chunk, encoding, done);
    else done(badFile(`Has more than 16 MiB in record ${this.records + 1}.`));
  }

  override push(element: unknown): boolean {
    // null is the end of the stream.
    if (element !== null) this.records += 1;
    this.pendingBytes = 0;
    return super.push(element);
  }
}

const badFile = (message: string, cause?: unknown): Problem => invalid({ file: [message] }, cause);

/** The parser's own words would show what is in the file. Failures of the file system are none of the file's. */
const blame = (error: unknown, records: number): unknown =>
  error instanceof Problem || (error instanceof Error && 'syscall' in error)
    ? error
    : badFile(`Is no JSON, or not all of it: it breaks off after record ${records}.`, error);
