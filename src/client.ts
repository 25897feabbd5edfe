/**
 * What TypeScript front-ends import: the types of every procedure, and what both ends must agree on. No code of
 * the server comes with it.
 */
export { default as transformer } from 'superjson';
export type { AppRouter } from '../routers/index.ts';
export { MAX_BATCH_SIZE } from './core/limits.ts';
