import type { TRPCProcedureType } from '@trpc/server';
import { forEachOpenApiProcedure, type OpenApiMethod } from 'trpc-to-openapi';
import { z } from 'zod';
import { type AppRouter, appRouter } from '../../routers/index.ts';
import type { RestMeta } from '../../routers/trpc.ts';

const API_PREFIX = '/api/v1';

export type Endpoint = {
  method: OpenApiMethod;
  /** As Fastify writes it: `/api/v1/jb/users/:email/`. */
  url: string;
  pathKeys: readonly string[];
  /** Procedure path: `users.get`. */
  procedure: string;
  type: TRPCProcedureType;
  input: z.ZodObject;
  isPublic: boolean;
  rest: NonNullable<RestMeta['rest']>;
};

/** Every REST path, taken from the metas of the procedures: there is no other list of them. */
export const restEndpoints = (router: AppRouter = appRouter): Endpoint[] => {
  const endpoints: Endpoint[] = [];
  forEachOpenApiProcedure<RestMeta>(router._def.procedures, ({ path, type, procedure, meta }) => {
    const schema: unknown = procedure._def.inputs[0];
    const input = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
    if (!(input instanceof z.ZodObject)) throw new TypeError(`${path} must take an object`);
    const keys = [...meta.openapi.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
    endpoints.push({
      method: meta.openapi.method,
      url: API_PREFIX + meta.openapi.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      pathKeys: keys,
      procedure: path,
      type,
      input,
      isPublic: meta.openapi.protect === false,
      rest: meta.rest ?? {},
    });
  });
  return endpoints;
};
