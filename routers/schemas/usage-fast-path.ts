import { z } from 'zod';
import { keptExtra } from '../../src/services/usage/usage-extra.ts';
import type { UsageReport } from '../../src/services/usage/usage-reports.ts';

/** Characters of each. */
export const MAX_LENGTHS = { id: 128, full_name: 301, action: 64, action_description: 10_000 };
const MAX_EMAIL_LENGTH = 254;

export const ACTION = /^[A-Z][A-Z0-9_]*$/;
const EMAIL = z.regexes.html5Email;
const TIME = z.regexes.datetime({ offset: true });

/**
 * What the schema `UsageReport` makes of an element, as quickly as can be: a request brings thousands. Null of one that
 * the schema may refuse, or has to be asked about; it also says what is wrong.
 */
export const usualReport = (element: unknown): UsageReport | null => {
  if (typeof element !== 'object' || element === null || Array.isArray(element)) return null;
  const { id = null, email, timestamp: time = null, action, extra = {} }: Fields = element;
  const { full_name: fullName = null, action_description: description = null }: Fields = element;
  const isUsual =
    isUsualText(id, MAX_LENGTHS.id) &&
    id !== '' &&
    isUsualText(fullName, MAX_LENGTHS.full_name) &&
    isUsualText(description, MAX_LENGTHS.action_description) &&
    typeof email === 'string' &&
    email.length <= MAX_EMAIL_LENGTH &&
    EMAIL.test(email) &&
    typeof action === 'string' &&
    action.length <= MAX_LENGTHS.action &&
    ACTION.test(action) &&
    (time === null || (typeof time === 'string' && TIME.test(time)));
  if (!isUsual) return null;

  const result = keptExtra(extra);
  return 'faults' in result
    ? null
    : {
        id,
        email: email.toLowerCase(),
        full_name: fullName,
        timestamp: time === null ? null : new Date(time),
        action,
        action_description: description ?? '',
        extra: result.kept,
      };
};

type Fields = Partial<Record<keyof UsageReport, unknown>>;

const isUsualText = (value: unknown, maxLength: number): value is string | null =>
  value === null ||
  (typeof value === 'string' && value.length <= maxLength && !value.includes('\0') && value.isWellFormed());
