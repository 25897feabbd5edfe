import { type Filter, parse } from 'scim2-parse-filter';
import { isStorableText } from '../json-value.ts';
import { ScimProblem } from './scim-problem.ts';

const MAX_LENGTH = 2_000;

/** @throws ScimProblem `invalidFilter`, or what a filter in a path is refused with */
export const parseFilter = (
  text: string,
  scimType: 'invalidFilter' | 'invalidPath' = 'invalidFilter',
): Filter => {
  if (text.length > MAX_LENGTH)
    throw new ScimProblem(scimType, `The filter must have at most ${MAX_LENGTH} characters.`);
  if (!isStorableText(text)) throw new ScimProblem(scimType, 'The filter has characters that are no text.');
  try {
    return parse(withLiterals(text));
  } catch (error) {
    throw new ScimProblem(
      scimType,
      `The filter cannot be read: ${error instanceof Error ? error.message : ''}`,
    );
  }
};

const COMPARED = /"(?:[^"\\]|\\.)*"|\b(eq|ne|co|sw|ew|gt|ge|lt|le)\s+([^\s"()[\]]+)/gi;

/** Directories also send values without quotes, and `TRUE`. Within quotes, the parser takes a backslash for itself. */
const withLiterals = (text: string): string =>
  text.replaceAll(COMPARED, (all, op?: string, value = '') => {
    if (op === undefined) return all.replaceAll(/\\\\(?!")/g, '\\');
    if (/^-?\d+(\.\d+)?$/.test(value)) return all;
    return `${op} ${/^(true|false|null)$/i.test(value) ? value.toLowerCase() : JSON.stringify(value)}`;
  });
