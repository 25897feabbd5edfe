import { type AnyTRPCProcedure, getTRPCErrorShape, transformTRPCResponse } from '@trpc/server';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { appRouter } from '../../../routers/index.ts';
import { trpcErrorOf } from '../../../routers/middleware/errors.ts';
import type { ProcedureMeta } from '../../../routers/procedure-meta.ts';
import type { Problem } from '../../lib/problems.ts';
import { addVary, EVENT_STREAM_TYPE } from '../rest/negotiation.ts';
import { prepareProblem } from '../rest/problem-document.ts';

const PREFIX = '/trpc/';

export const isTrpcPath = (url: string): boolean => url.startsWith(PREFIX);

/** The procedures that a URL calls, parsed as tRPC does: `/trpc/users.get,sites.list?…`. */
export const proceduresInPath = (url: string): string[] =>
  decodeURIComponent(url.replace(/\?.*$/s, '').slice(PREFIX.length)).split(',');

type Procedure = { _def: AnyTRPCProcedure['_def']; meta?: ProcedureMeta };

/** At run time the record is flat, with names such as `users.get`; only its type is nested. */
const procedures = appRouter._def.procedures as unknown as Record<string, Procedure>;

export const isQuery = (name: string): boolean => procedures[name]?._def.type === 'query';

export const isSubscription = (name: string): boolean => procedures[name]?._def.type === 'subscription';

export const metaOf = (name: string): ProcedureMeta => procedures[name]?.meta ?? {};

/** Whether the procedure exists and requires credentials. */
export const isProtected = (name: string): boolean => {
  const meta = procedures[name]?.meta;
  return meta !== undefined && !meta.isPublic;
};

/** Whether the response may contain secrets. True for paths without a procedure. */
export const mayContainSecrets = (name: string): boolean => {
  const procedure = procedures[name];
  return procedure === undefined || procedure.meta?.rest?.hasSecrets === true;
};

/**
 * Sends the Fetch API responses that tRPC returns. Fastify itself would replace headers that were set before, and would stream even short
 * texts without a `Content-Length`.
 */
export const sendFetchResponses = (app: Pick<FastifyInstance, 'addHook'>): void => {
  app.addHook('onSend', async (_request, reply, payload) => {
    if (!(payload instanceof Response)) return payload;
    reply.code(payload.status);
    for (const [name, value] of payload.headers) addHeader(reply, name, value);
    return isStreamed(payload) ? payload.body : payload.text();
  });
};

const addHeader = (reply: FastifyReply, name: string, value: string): void => {
  if (name === 'vary') addVary(reply, ...value.split(','));
  else reply.header(name, value);
};

/** `httpBatchStreamLink` receives each result of a batch as soon as it is available, `httpSubscriptionLink` each event. */
const isStreamed = ({ headers }: Response): boolean =>
  headers.has('transfer-encoding') || headers.get('content-type') === EVENT_STREAM_TYPE;

/**
 * Sends a failure that occurs before tRPC is called (rate limit, body limit) in tRPC's error format, which its links can parse: one error
 * for all calls of a batch.
 */
export const sendTrpcError = (reply: FastifyReply, error: unknown): FastifyReply =>
  reply.type('application/json').send(trpcErrorBody(prepareProblem(reply, error)));

export const trpcErrorBody = (problem: Problem): string => {
  const config = appRouter._def._config;
  const error = getTRPCErrorShape({
    config,
    error: trpcErrorOf(problem),
    type: 'unknown',
    path: undefined,
    input: undefined,
    ctx: undefined,
  });
  return JSON.stringify(transformTRPCResponse(config, { error }));
};
