import { z } from 'zod';
import type { Endpoint } from '../rest/endpoints.ts';

/** Which keys of a procedure's input come from where over REST: as `rest-input.ts` reads them. */
export const partsOf = ({ method, input, pathKeys, rest }: Endpoint) => {
  const others = Object.keys(input.shape).filter((key) => !pathKeys.includes(key));
  if (method === 'GET') return { queryKeys: others, bodyKeys: [] };
  if (method === 'DELETE') return { queryKeys: [], bodyKeys: [] };
  const queryKeys = rest.query ?? [];
  return { queryKeys, bodyKeys: others.filter((key) => !queryKeys.includes(key)) };
};

type Def = { type: string; innerType?: z.ZodType; in?: z.ZodType };

/** A bulk and its elements are parsed into values or their faults: what callers send lies inside, or is said. */
export const sentSchema = (schema: z.ZodType): z.ZodType => {
  const said: unknown = z.globalRegistry.get(schema)?.sent;
  if (said instanceof z.ZodType) return said;
  const { type, innerType, in: before }: Def = schema.def as unknown as Def; // the defs of both kinds, of which the type says which
  if (type === 'catch' && innerType) return sentSchema(innerType);
  if (type === 'pipe' && before) return sentSchema(before);
  return schema;
};

/** Lists that are passed on unparsed say what they hold. */
export const answered = (schema: z.ZodType): z.ZodType => {
  const { listOf, pagesOf } = z.globalRegistry.get(schema) ?? {};
  const item: unknown = listOf ?? pagesOf;
  if (item instanceof z.ZodType) return z.array(item);
  if (schema instanceof z.ZodUnion) return z.union((schema.options as z.ZodType[]).map(answered)); // zod's types leave options open
  return schema;
};
