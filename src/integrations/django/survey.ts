import { invalid, Problem } from '../../lib/problems.ts';
import type { DumpRecord } from './dump.ts';
import { isObject } from './user.ts';

/** More names than any Django service has: they are all held in memory. */
const MAX_NAMES = 10_000;

export type ModelSurvey = {
  records: number;
  /** Whether one of its records has a password, and an address or a username. */
  isUserModel: boolean;
  /** Each field, and how many records have a value in it: anything but null, '', [] and {}. */
  fields: Map<string, number>;
};

/** Models by their label in lower case, and why the file could not be read to its end, if so. */
export type Survey = { models: Map<string, ModelSurvey>; fault: string | null };

/** Reads a dump once, and counts what is in it. Whatever is no record is left to the reading of the users. */
export const surveyDump = async (
  records: AsyncIterable<DumpRecord>,
  visit: (record: DumpRecord, model: string, fields: Record<string, unknown>) => Promise<void>,
): Promise<Survey> => {
  const models = new Map<string, ModelSurvey>();
  let names = 0;
  const fault = await orFileFault(async () => {
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

/** Returns how many fields were not known before. */
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

/** The models that hold users, as the survey found them: `accounts.user (records: 12)`. */
export const userModels = ({ models }: Survey): { label: string; line: string }[] =>
  [...models]
    .filter(([, { isUserModel }]) => isUserModel)
    .map(([label, { records }]) => ({ label, line: `${label} (records: ${records})` }));

/** What is wrong with the file as a whole, found while reading it. */
export const orFileFault = async (work: () => Promise<void>): Promise<string | null> => {
  try {
    await work();
    return null;
  } catch (error) {
    const [message] = (error instanceof Problem && error.fields?.file) || [];
    if (message === undefined) throw error;
    return message;
  }
};
