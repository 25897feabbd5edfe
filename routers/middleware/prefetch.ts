import type { z } from 'zod';
import type { Services } from '../../src/services/index.ts';

type RawInput = () => Promise<unknown>;

/**
 * Begins what a query is going to read, while its caller is looked up: they get it if they may have it. See `canPrefetch` of
 * the context.
 */
export type Prefetch = (services: Services, rawInput: RawInput) => void;

/** Over an input of this schema. What is wrong with any other the query says itself, to those who may ask it. */
export const prefetchWith =
  <S extends z.ZodType>(schema: S, begin: (services: Services, input: z.output<S>) => void): Prefetch =>
  (services, rawInput) => {
    const ifValid = (input: unknown) => {
      const { success, data } = schema.safeParse(input);
      if (success) begin(services, data);
    };
    rawInput().then(ifValid, () => undefined);
  };
