import { opaque } from '../../src/lib/json-value.ts';

/** Where a view keeps JSON text that has not been parsed: a symbol, which no serializer looks at. */
export const TEXT = Symbol('JSON text');

/** For a getter: data that is parsed when somebody asks for it. REST passes it on as the text that it is. */
export const parsed = (text: string): Record<string, unknown> => opaque(JSON.parse(text));
