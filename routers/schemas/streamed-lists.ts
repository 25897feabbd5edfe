import { z } from 'zod';
import { type JsonChunk, JsonStream } from '../../src/db/json-stream/json-stream.ts';
import type { Context } from '../context.ts';

type PartKeys = { page?: unknown; page_size?: unknown; limit?: unknown };

/** Whether a list is to be answered as text: all of it, to a caller who takes text. */
export const isWantedAsText = (
  { acceptsJsonStream }: Pick<Context, 'acceptsJsonStream'>,
  part: PartKeys,
): boolean =>
  acceptsJsonStream === true &&
  part.page === undefined &&
  part.page_size === undefined &&
  part.limit === undefined;

/** Holds the first item of what was read together against the schema of the items, as is done with lists of objects. */
export const checkedText = (item: z.ZodType, { chunks }: JsonStream): JsonStream =>
  new JsonStream(checkChunks(item, chunks));

async function* checkChunks(item: z.ZodType, chunks: AsyncIterable<JsonChunk>): AsyncGenerator<JsonChunk> {
  const dates = datesOf(item);
  for await (const chunk of chunks) {
    const { text, first } = chunk;
    if (first) item.parse(withDates(dates, JSON.parse(text.toString('utf8', first.from, first.to))));
    yield chunk;
  }
}

/** Where a value has dates: it is one itself, or some of its keys have. */
type Dates = 'itself' | 'nowhere' | ReadonlyMap<string, Dates>;

const known = new WeakMap<z.ZodType, Dates>();

/** Schemas do not change, and asking them takes longer than what they say. */
const datesOf = (schema: unknown): Dates => {
  if (!(schema instanceof z.ZodType)) return 'nowhere';
  const dates = known.get(schema) ?? foundDates(schema);
  known.set(schema, dates);
  return dates;
};

const foundDates = (schema: z.ZodType): Dates => {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return datesOf(schema.unwrap());
  if (schema instanceof z.ZodDate) return 'itself';
  if (!(schema instanceof z.ZodObject)) return 'nowhere';
  const inner = Object.entries(schema.shape)
    .map(([key, value]) => [key, datesOf(value)] as const)
    .filter(([, dates]) => dates !== 'nowhere');
  return inner.length === 0 ? 'nowhere' : new Map(inner);
};

/** What JSON has no word for, as the schema has it. */
const withDates = (dates: Dates, value: unknown): unknown => {
  if (dates === 'nowhere' || value === null || value === undefined) return value;
  if (dates === 'itself') return new Date(String(value));
  if (typeof value !== 'object') return value;
  const item: Record<string, unknown> = { ...value };
  for (const [key, inner] of dates) if (key in item) item[key] = withDates(inner, item[key]);
  return item;
};
