import type { z } from 'zod';
import type { Services } from '../../src/services/index.ts';

type RawInput = () => Promise<unknown>;

/**
 * Starts the read of a query while the caller is being looked up. The query returns it only if the caller may see it. See
 * `Context.canPrefetch`.
 */
export type Prefetch = (services: Services, rawInput: RawInput) => void;

/** Prefetches with input that matches `schema`. The query itself reports invalid input. */
export const prefetchWith =
  <S extends z.ZodType>(schema: S, start: (services: Services, input: z.output<S>) => void): Prefetch =>
  (services, rawInput) => {
    const startIfValid = (input: unknown) => {
      const { success, data } = schema.safeParse(input);
      if (success) start(services, data);
    };
    rawInput().then(startIfValid, () => undefined);
  };
