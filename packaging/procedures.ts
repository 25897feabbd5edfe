import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server';
import { appRouter } from '../routers/index.ts';

/**
 * Types only. In declaration files, the compiler expands the inferred type of a value but not a type alias. So this value
 * expands to the inputs and outputs of every procedure, without types of the server.
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
