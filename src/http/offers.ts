import { JSON_FORMS, LIST_FORMS, PAGE_FORM } from './negotiation.ts';
import type { Endpoint } from './rest-endpoints.ts';

/** The content types that an endpoint can answer in, first choice first. */
export const offersOf = ({ rest, csv }: Pick<Endpoint, 'rest' | 'csv'>): readonly string[] =>
  rest.offers ? [...rest.offers, PAGE_FORM] : csv ? LIST_FORMS : JSON_FORMS;
