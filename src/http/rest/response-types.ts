import type { FastifyRequest } from 'fastify';
import type { Endpoint } from './endpoints.ts';
import { chooseForm, JSON_FORM, JSON_FORMS, LIST_FORMS, PAGE_FORM } from './negotiation.ts';

/** The content types that an endpoint can answer in, first choice first. */
export const offersOf = ({ rest, csv }: Pick<Endpoint, 'rest' | 'csv'>): readonly string[] =>
  rest.jsonOnly
    ? [JSON_FORM]
    : rest.responseTypes
      ? [...rest.responseTypes, PAGE_FORM]
      : csv
        ? LIST_FORMS
        : JSON_FORMS;

/**
 * The content type that an endpoint answers this request in.
 * @throws Problem `not-acceptable`
 */
export const formFor = (endpoint: Endpoint, request: FastifyRequest): string =>
  endpoint.rest.jsonOnly ? JSON_FORM : chooseForm(request, offersOf(endpoint));
