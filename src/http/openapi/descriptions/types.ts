import type { AppRouter } from '../../../../routers/index.ts';
import type { ProblemCode } from '../../../lib/problems.ts';

/** What the document says about an operation that its schemas do not. */
export type Description = {
  /** A short phrase without a full stop. */
  summary: string;
  /** Markdown. */
  description?: string;
  /** Problems beyond those that follow from its path, body and required role. */
  problems?: readonly ProblemCode[];
};

type Procedures = AppRouter['_def']['record'];

/** One description for each procedure of a router. */
export type DescriptionsOf<R extends keyof Procedures> = Record<keyof Procedures[R], Description>;
export type AllDescriptions = { [R in keyof Procedures]: DescriptionsOf<R> };
