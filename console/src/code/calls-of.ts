import type { QueryClient } from '@tanstack/react-query';
import type { Inputs } from '../api.ts';
import type { Call } from './samples.ts';

/** The name of a procedure, such as `users.list`. */
export type Procedure = {
  [Noun in keyof Inputs & string]: `${Noun}.${keyof Inputs[Noun] & string}`;
}[keyof Inputs & string];

/** The procedures with the same input that scripts call instead of those that are for screens only. */
const PUBLIC: Partial<Record<Procedure, Procedure>> = {
  'accessViews.screen': 'accessViews.list',
  'users.people': 'users.list',
};

/** The calls of these procedures whose results are on the screen, with the input that they were sent with. */
export const callsOf = (queryClient: QueryClient, procedures: readonly Procedure[]): Call[] => {
  const active = queryClient.getQueryCache().findAll({ type: 'active' });
  return procedures.flatMap((procedure) =>
    active.flatMap(({ queryKey: [path, options] }) =>
      Array.isArray(path) && path.join('.') === procedure
        ? [{ procedure: PUBLIC[procedure] ?? procedure, input: inputOf(options) }]
        : [],
    ),
  );
};

const inputOf = (options: unknown): Record<string, unknown> => {
  const { input = {} } = Object(options) as { input?: object }; // of tRPC's query keys
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
};
