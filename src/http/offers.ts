import { JSON_FORMS, LIST_FORMS } from './negotiation.ts';
import type { Endpoint } from './rest-endpoints.ts';

/** The content types that an endpoint can answer in, first choice first. */
export const offersOf = ({ rest }: Pick<Endpoint, 'rest'>): readonly string[] =>
  rest.offers ?? (rest.items ? LIST_FORMS : JSON_FORMS);
