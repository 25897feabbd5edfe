import { z } from 'zod';
import { ListText, type TextPiece } from '../src/core/list-text.ts';
import type { Context } from './context.ts';

type PartKeys = { page?: unknown; page_size?: unknown; limit?: unknown };

/** Whether a list is to be answered as text: all of it, to a caller who takes text. */
export const isWantedAsText = ({ takesText }: Pick<Context, 'takesText'>, part: PartKeys): boolean =>
  takesText === true && part.page === undefined && part.page_size === undefined && part.limit === undefined;

/** Holds the first item of each piece against the schema of the items, as is done with lists of objects. */
export const checkedText = (item: z.ZodType, list: ListText): ListText =>
  new ListText(checkedPieces(item, list.pieces));

async function* checkedPieces(item: z.ZodType, pieces: AsyncIterable<TextPiece>): AsyncGenerator<TextPiece> {
  for await (const piece of pieces) {
    const { text, first } = piece;
    if (first) item.parse(withDates(item, JSON.parse(text.toString('utf8', first.from, first.to))));
    yield piece;
  }
}

/** What JSON has no word for, as the schema has it. */
const withDates = (schema: unknown, value: unknown): unknown => {
  if (value === null || value === undefined) return value;
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    return withDates(schema.unwrap(), value);
  }
  if (schema instanceof z.ZodDate) return new Date(String(value));
  if (!(schema instanceof z.ZodObject) || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, withDates(schema.shape[key], inner)]);
  return Object.fromEntries(entries);
};
