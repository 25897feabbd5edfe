import { pipeline, type Readable, type TransformCallback } from 'node:stream';
import { JSONParser } from '@streamparser/json-node';
import { invalid, Problem } from '../../lib/problems.ts';

/** An incomplete record is held in memory. */
const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** An element of a dump. Positions in the file start at 1. */
export type DumpRecord = { position: number; value: unknown };

/**
 * Streams the elements of the JSON array that `manage.py dumpdata` writes.
 * @param advance receives the number of bytes read since the last call
 * @throws Problem `invalid-input` on `file` if it is not such an array
 */
export async function* readDump(
  source: Readable,
  advance: (bytes: number) => void = () => {},
): AsyncGenerator<DumpRecord> {
  const parser = new RecordParser(advance);
  try {
    // The parser's iterator throws all errors of the pipeline.
    for await (const { key, value } of pipeline(source, parser, () => {})) {
      if (typeof key !== 'number') throw badFile('Must be a JSON array of records, as dumpdata writes it.');
      yield { position: key + 1, value };
    }
  } catch (error) {
    throw toProblem(error, parser.records);
  }
}

/** Counts records when they are parsed: they may be queued before they are read. */
class RecordParser extends JSONParser {
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
    else done(badFile(`Record ${this.records + 1} is larger than 16 MiB.`));
  }

  override push(element: unknown): boolean {
    // null ends the stream.
    if (element !== null) this.records += 1;
    this.pendingBytes = 0;
    return super.push(element);
  }
}

const badFile = (message: string, cause?: unknown): Problem => invalid({ file: [message] }, cause);

/** Hides the parser's message, which quotes the file. Errors of the file system are not errors in the file. */
const toProblem = (error: unknown, records: number): unknown =>
  error instanceof Problem || (error instanceof Error && 'syscall' in error)
    ? error
    : badFile(`Invalid or truncated JSON (after record ${records}).`, error);
