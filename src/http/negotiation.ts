import accepts from '@fastify/accepts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Problem } from '../core/problems.ts';

/** First choice first. Further forms of an answer (CSV, HTML) are to be added here. */
export const JSON_FORMS: readonly string[] = ['application/json'];

/** Registers the `Accept` parser, and says on every answer that it depends on that header. */
export const negotiate = async (app: FastifyInstance): Promise<void> => {
  await app.register(accepts);
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('vary', 'Accept');
  });
};

/**
 * The form of the answer that the caller likes best.
 * @throws Problem `not-acceptable`
 */
export const chooseForm = (request: FastifyRequest, offers: readonly string[]): string => {
  const chosen = request.accepts().type([...offers]);
  if (typeof chosen !== 'string') throw new Problem('not-acceptable');
  return chosen;
};
