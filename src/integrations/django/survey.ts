import { invalid, Problem } from '../../lib/problems.ts';
import type { DumpRecord } from './dump.ts';
import { type Remark, remarkOnFile } from './fields.ts';
import { isObject } from './user.ts';

/** All names are held in memory. No Django service has this many. */
const MAX_NAMES = 10_000;

export type ModelSurvey = {
  records: number;
  /** Whether one of its records has a password, and an email address or a username. */
  isUserModel: boolean;
  /** The number of records with a value (not null, '', [] or {}) in each field. */
  fields: Map<string, number>;
};

/** Models by their lower-case label, and the reason why the file could not be read to its end, or null. */
type Survey = { models: Map<string, ModelSurvey>; fault: string | null };

type Visit = (record: DumpRecord, model: string, fields: Record<string, unknown>) => Promise<void>;

/** Reads a dump to its end and counts its models and fields. Ignores invalid records: `stageDump` reports them. */
export const surveyDump = async (records: AsyncIterable<DumpRecord>, visit: Visit): Promise<Survey> => {
  const models = new Map<string, ModelSurvey>();
  let names = 0;
  const fault = await findFileFault(async () => {
    for await (const record of records) {
      const { model, fields } = isObject(record.value) ? record.value : {};
      if (typeof model !== 'string' || !isObject(fields)) continue;
      const label = model.toLowerCase();
      const survey = models.get(label) ?? { records: 0, isUserModel: false, fields: new Map() };
      if (survey.records === 0) names += 1;
      models.set(label, survey);
      names += countFields(survey, fields);
      if (names > MAX_NAMES) {
        throw invalid({ file: [`Has more than ${MAX_NAMES} different models and fields.`] });
      }
      await visit(record, label, fields);
    }
  });
  return { models, fault };
};

/** Returns the number of new fields. */
const countFields = (survey: ModelSurvey, fields: Record<string, unknown>): number => {
  const known = survey.fields.size;
  survey.records += 1;
  survey.isUserModel ||= looksLikeUser(fields);
  for (const [name, value] of Object.entries(fields)) {
    survey.fields.set(name, (survey.fields.get(name) ?? 0) + (isEmpty(value) ? 0 : 1));
  }
  return survey.fields.size - known;
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
