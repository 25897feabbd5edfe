import { pipeline, type Readable, type TransformCallback } from 'node:stream';
import { JSONParser } from '@streamparser/json-node';
import { invalid, Problem } from '../../lib/problems.ts';
import { type Remark, remarkOnFile } from './fields.ts';
import { isObject } from './user.ts';

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

export type ModelSurvey = {
  records: number;
  /** Whether one of its records has a password, and an email address or a username. */
  isUserModel: boolean;
  /** The number of records with a value (not null, '', [] or {}) in each field. */
  fields: Map<string, number>;
};

/** Models by their lower-case label, and the reason why the file could not be read to its end, or null. */
type Survey = { models: Map<string, ModelSurvey>; fault: string | null };

type Visit = (record: DumpRecord, model: string, fields: Record<string, unknown>) => void;

/** Reads a dump to its end and counts its models and fields. Ignores invalid records: the second reading reports them. */
export const surveyDump = async (records: AsyncIterable<DumpRecord>, visit: Visit): Promise<Survey> => {
  const models = new Map<string, ModelSurvey>();
  const fault = await findFileFault(async () => {
    for await (const record of records) {
      const { model, fields } = isObject(record.value) ? record.value : {};
      if (typeof model !== 'string' || !isObject(fields)) continue;
      const label = model.toLowerCase();
      const survey = models.get(label) ?? { records: 0, isUserModel: false, fields: new Map() };
      models.set(label, survey);
      countFields(survey, fields);
      visit(record, label, fields);
    }
  });
  return { models, fault };
};

const countFields = (survey: ModelSurvey, fields: Record<string, unknown>): void => {
  survey.records += 1;
  survey.isUserModel ||= looksLikeUser(fields);
  for (const [name, value] of Object.entries(fields)) {
    survey.fields.set(name, (survey.fields.get(name) ?? 0) + (isEmpty(value) ? 0 : 1));
  }
};

const looksLikeUser = (fields: Record<string, unknown>): boolean =>
  'password' in fields && Object.keys(fields).some((name) => /email|username/.test(name));

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0);

/** Returns the only user model of the dump, or an explanation. */
export const findUserModel = ({ models, fault }: Survey): string | Remark => {
  const candidates = [...models].filter(([, { isUserModel }]) => isUserModel);
  const [only] = candidates;
  if (only && candidates.length === 1) return only[0];
  const lines = candidates.map(([label, { records }]) => `${label} (records: ${records})`);
  const message = only
    ? `Several models have passwords: ${lines.join(', ')}. Choose one with --model.`
    : 'There is no user model: no record has a password, and a field for an email address or a username.';
  return remarkOnFile('faulty', 'file', fault ?? message);
};

/** Runs `work` and returns the error of the file that stops it, or null. */
export const findFileFault = async (work: () => Promise<void>): Promise<string | null> => {
  try {
    await work();
    return null;
  } catch (error) {
    const [message] = (error instanceof Problem && error.fields?.file) || [];
    if (message === undefined) throw error;
    return message;
  }
};
