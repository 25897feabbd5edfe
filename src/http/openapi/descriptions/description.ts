import type { AppRouter } from '../../../../routers/index.ts';
import type { ProblemCode } from '../../../lib/problems.ts';

/** What the document says of an operation in words, and which failures are its own. */
export type Wording = {
  /** A few words, without a full stop. */
  summary: string;
  /** Markdown. */
  description?: string;
  /** Beside those that follow from its path, its body and who may call it. */
  problems?: readonly ProblemCode[];
};

type Procedures = AppRouter['_def']['record'];

/** The wordings of one router: every procedure of it, and no other. */
export type WordingOf<R extends keyof Procedures> = Record<keyof Procedures[R], Wording>;
export type AllWordings = { [R in keyof Procedures]: WordingOf<R> };
