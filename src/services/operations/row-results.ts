import { Problem, type ProblemCode } from '../../lib/problems.ts';

export type RowProblem = { code: string; detail: string };

/** The actor has lost access while the request was under way. */
const ACCESS_LOST: readonly ProblemCode[] = ['unauthenticated', 'role-lost'];

/** The problem of one row of a bulk request. Rethrows what concerns the whole request, such as an unavailable database. */
export const rowProblemOf = (error: unknown): RowProblem => {
  if (!(error instanceof Problem) || error.status >= 500 || ACCESS_LOST.includes(error.code)) throw error;
  const messages = Object.values(error.fields ?? {}).flat();
  return { code: error.code, detail: messages.length > 0 ? messages.join(' ') : error.message };
};
