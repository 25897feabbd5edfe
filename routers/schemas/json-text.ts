import { opaque } from '../../src/lib/json-value.ts';

/** Key of the unparsed JSON of a view. Serializers ignore symbols. */
export const TEXT = Symbol('JSON text');

/** For getters that parse on first access; REST sends the unparsed JSON instead. */
export const parsed = (text: string): Record<string, unknown> => opaque(JSON.parse(text));
