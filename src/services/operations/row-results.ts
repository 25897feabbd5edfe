import { Problem } from '../../lib/problems.ts';

export type RowProblem = { code: string; detail: string };

/** The problem of one row of a bulk request. Rethrows what concerns the whole request, such as an unavailable database. */
export const rowProblemOf = (error: unknown): RowProblem => {
  if (!(error instanceof Problem) || error.status >= 500 || error.code === 'unauthenticated') throw error;
  const messages = Object.values(error.fields ?? {}).flat();
  return { code: error.code, detail: messages.length > 0 ? messages.join(' ') : error.message };
};
