import { callTRPCProcedure } from '@trpc/server';
import type { FastifyRequest } from 'fastify';
import type { Context, Precondition } from '../../../routers/context.ts';
import { appRouter } from '../../../routers/index.ts';
import { fieldErrors } from '../../../routers/middleware/errors.ts';
import { invalid, Problem } from '../../lib/problems.ts';
import { etagOf, matchesStrongly, matchesWeakly, parseEtags } from '../middleware/etags.ts';
import { endpointOf } from './endpoints.ts';

const BATCH = 'Must not come with a batch: send this call alone.';
const NO_TAGS = 'Must be * or entity tags in quotes, as an ETag has them.';
const EXISTS = { detail: 'It exists already, in a state that the If-None-Match header excludes.' };

/**
 * What a request demands of the resource that it would change (RFC 9110 §13.1), or null.
 * @throws Problem `invalid-input`
 */
export const preconditionOf = (
  { headers }: FastifyRequest,
  calls: number,
  context: Context,
): Precondition | null => {
  const match = headers['if-match'];
  const noneMatch = headers['if-none-match'];
  if (match === undefined && noneMatch === undefined) return null;
  const header = match === undefined ? 'If-None-Match' : 'If-Match';
  if (calls > 1) throw invalid({ [header]: [BATCH] });
  const wanted = parseHeader('If-Match', match);
  const unwanted = parseHeader('If-None-Match', noneMatch);

  const check = (etag: string): void => {
    if (wanted && !matchesStrongly(wanted, etag)) throw new Problem('precondition-failed');
    if (unwanted && matchesWeakly(unwanted, etag)) throw new Problem('precondition-failed', EXISTS);
  };
  return {
    header,
    resolveResource: (query, input) => {
      const key = keyOf(query, input);
      return {
        key,
        check: async (actor, services) => {
          const seen = { ...context, openServices: () => services, authenticate: async () => actor };
          const content = await callQuery(query, key, seen);
          check(etagOf(content, JSON.stringify(content), endpointOf(query).rest.volatileFields));
        },
      };
    },
  };
};

const parseHeader = (name: string, header: string | undefined) => {
  if (header === undefined) return null;
  const tags = parseEtags(header);
  if (tags === null) throw invalid({ [name]: [NO_TAGS] });
  return tags;
};

/** What the input of a mutation has in common with that of the query which shows what it changes. */
const keyOf = (query: string, input: unknown): Record<string, unknown> => {
  const { success, data, error } = endpointOf(query).input.safeParse(input);
  if (!success) throw invalid(fieldErrors(error), error);
  return data;
};

const callQuery = async (query: string, key: Record<string, unknown>, ctx: Context): Promise<object> =>
  callTRPCProcedure({
    router: appRouter,
    path: query,
    type: 'query',
    ctx,
    getRawInput: async () => key,
    signal: undefined,
    batchIndex: 0,
  });
