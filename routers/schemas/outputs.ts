import { z } from 'zod';
import { freeForm, isJsonObject } from '../../src/lib/json-value.ts';

/**
 * An object in responses, which has only these fields of a row: a new column stays private by default.
 * `id` names its component in the OpenAPI document, which generated clients use for its type.
 */
export const Output = <Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) =>
  z.object(shape).meta({ id });

/** The fields of an output that counts things. */
export const integers = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, z.int()])) as Record<Name, z.ZodInt>; // the keys are those of the list

/** A time: a `Date` over tRPC, ISO 8601 in UTC with milliseconds over REST. */
export const Instant = z.date();

/** Free-form JSON in responses, opaque to the serializers of tRPC unless it has bigints, which they must mark. */
export const AnyObject = z
  .custom<Record<string, unknown>>(isJsonObject, 'Must be an object.')
  .transform(freeForm)
  .meta({ json: { type: 'object', additionalProperties: true } });
