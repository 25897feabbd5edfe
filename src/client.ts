/**
 * What TypeScript front-ends import: a client with the types of every procedure, and what both ends must agree on. No
 * code of the server comes with it.
 */
export { default as transformer } from 'superjson';
export { ForeignAnswer, type Send, Unreachable } from './client/answers.ts';
export type { AppRouter } from './client/app-router.ts';
export {
  fieldErrors,
  isForeignAnswer,
  isProblem,
  isUnreachable,
  type ProblemError,
  retryAfterSeconds,
} from './client/failures.ts';
export type { CallContext } from './client/links.ts';
export {
  type Credentials,
  createStewardClient,
  type LoggedIn,
  type StewardClient,
  type StewardClientOptions,
} from './client/steward-client.ts';
export { MAX_BATCH_SIZE } from './lib/limits.ts';
export type { FieldErrors, ProblemCode } from './lib/problems.ts';
