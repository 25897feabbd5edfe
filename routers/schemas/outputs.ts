import { z } from 'zod';
import { freeForm, isJsonObject } from '../../src/lib/json-value.ts';

/**
 * An object in responses. It has only these fields of a row, so that a new column stays private by default. `id` names its component in the
 * OpenAPI document; generated clients use the name for its type.
 */
export const Output = <Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) =>
  z.object(shape).meta({ id });

/** Integer fields of an output, such as counts. */
export const integers = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, z.int()])) as Record<Name, z.ZodInt>; // the keys are the names in the list

/** A time: a `Date` over tRPC, ISO 8601 in UTC with milliseconds over REST. */
export const Instant = z.date();

/** Free-form JSON in responses, opaque to the serializers of tRPC, except if it contains bigints, which they must mark. */
export const AnyObject = z
  .custom<Record<string, unknown>>(isJsonObject, 'Must be an object.')
  .transform(freeForm)
  .meta({ json: { type: 'object', additionalProperties: true } });
