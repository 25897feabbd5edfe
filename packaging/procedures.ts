import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server';
import { appRouter } from '../routers/index.ts';

/**
 * Types alone: the compiler writes what it infers for a value into declarations in full, and never what an alias
 * stands for. So this has it infer what every procedure takes and gives, with nothing of the server left in it.
 */
type Resolve = <Router extends AnyTRPCRouter>(
  router: Router,
) => {
  errorShape: Router['_def']['_config']['$types']['errorShape'];
  procedures: {
    [Noun in keyof Router['_def']['record']]: {
      [Verb in keyof Router['_def']['record'][Noun]]: Router['_def']['record'][Noun][Verb] extends AnyTRPCProcedure
        ? {
            type: Router['_def']['record'][Noun][Verb]['_def']['type'];
            input: Router['_def']['record'][Noun][Verb]['_def']['$types']['input'];
            output: Router['_def']['record'][Noun][Verb]['_def']['$types']['output'];
          }
        : never;
    };
  };
};

declare const resolve: Resolve;

export const resolved = resolve(appRouter);
