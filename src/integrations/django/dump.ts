import { Tokenizer, TokenParser } from '@streamparser/json';
import { parseJson } from '../../lib/exact-json.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import { type Remark, remarkOnFile } from './fields.ts';
import { isObject } from './user.ts';

/** Limits the memory of an incomplete record. */
const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** An element of a dump. Positions in the file start at 1. */
export type DumpRecord = { position: number; value: unknown };

/** Keeps all digits of integers that a double cannot represent. */
class ExactTokenizer extends Tokenizer {
  // The token parser passes on any value.
  protected override parseNumber = (digits: string): number => parseJson(digits) as number;
}

/**
 * Streams the elements of the JSON array that `manage.py dumpdata` writes.
 * @param advance receives the number of bytes of each part that is read
 * @throws Problem `invalid-input` on `file` if it is not such an array
 */
export async function* readDump(
  source: AsyncIterable<Buffer>,
  advance: (bytes: number) => void = () => {},
): AsyncGenerator<DumpRecord> {
  const tokenizer = new ExactTokenizer();
  const elements = new TokenParser({ paths: ['$.*'], keepStack: false });
  const found: DumpRecord[] = [];
  let records = 0;
  let pendingBytes = 0;
  tokenizer.onToken = (token) => elements.write(token);
  elements.onValue = ({ key, value }) => {
    if (typeof key !== 'number') throw badFile('Must be a JSON array of records, as dumpdata writes it.');
    records += 1;
    pendingBytes = 0;
    found.push({ position: records, value });
  };
  const tryTo = (read: () => void): unknown => {
    try {
      read();
      return null;
    } catch (error) {
      return error instanceof Problem
        ? error
        : badFile(`Invalid or truncated JSON (after record ${records}).`, error);
    }
  };
  for await (const part of source) {
    advance(part.length);
    pendingBytes += part.length;
    const fault = tryTo(() => {
      if (pendingBytes > MAX_RECORD_BYTES) throw badFile(`Record ${records + 1} is larger than 16 MiB.`);
      tokenizer.write(part);
    });
    yield* found.splice(0);
    if (fault !== null) throw fault;
  }
  const fault = tryTo(() => {
    tokenizer.end();
    if (!elements.isEnded) elements.end();
  });
  if (fault !== null) throw fault;
}

const badFile = (message: string, cause?: unknown): Problem => invalid({ file: [message] }, cause);

export type ModelSurvey = {
  records: number;
  /** Whether a record has a password, and an email address or a username. */
  isUserModel: boolean;
  /** The number of records with a value (not null, '', [] or {}) in each field. */
  fields: Map<string, number>;
};

/** Models by lower-case label, and the reason why the file could not be read to its end, or null. */
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

/** Returns the only user model of the dump, or explains why there is not exactly one. */
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
