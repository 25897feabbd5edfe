import type { FastifyRequest } from 'fastify';
import type { Endpoint } from './endpoints.ts';
import { HTML_TYPE, JSON_TYPE, JSON_TYPES, LIST_TYPES, negotiateType } from './negotiation.ts';

/** The content types that an endpoint can answer in, first choice first. */
export const responseTypesOf = ({ rest, csv }: Pick<Endpoint, 'rest' | 'csv'>): readonly string[] =>
  rest.jsonOnly
    ? [JSON_TYPE]
    : rest.responseTypes
      ? [...rest.responseTypes, HTML_TYPE]
      : csv
        ? LIST_TYPES
        : JSON_TYPES;

/**
 * The content type that an endpoint answers this request in.
 * @throws Problem `not-acceptable`
 */
export const responseTypeFor = (endpoint: Endpoint, request: FastifyRequest): string =>
  endpoint.rest.jsonOnly ? JSON_TYPE : negotiateType(request, responseTypesOf(endpoint));
