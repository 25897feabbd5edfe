import { z } from 'zod';
import type { CsvWriter, ItemWriter } from '../../../routers/schemas/streamed-items.ts';

/** How the items of a list become records of CSV. */
export type CsvColumns = CsvWriter<unknown>;

/**
 * Those of the writer of a list, else one for each field of the items that its output schema describes; null for what is
 * no list.
 */
export const csvColumnsOf = (output: unknown, writer: ItemWriter | undefined): CsvColumns | null => {
  // A writer stands beside the output schema of its procedure: its items are what it takes.
  const { csv } = (writer ?? {}) as Partial<ItemWriter<unknown>>;
  if (csv) return csv;
  const item = itemOf(output);
  if (!(item instanceof z.ZodObject)) return null;
  const fields = Object.keys(item.shape);
  return { header: fields, cells: (value) => fields.map((field) => cellOf(fieldOf(value, field))) };
};

const itemOf = (output: unknown): unknown => {
  if (output instanceof z.ZodArray) return output.element;
  return output instanceof z.ZodType ? output.meta()?.listOf : undefined;
};

/** What a list's schema lets through are objects. */
const fieldOf = (value: unknown, field: string): unknown => (value as Record<string, unknown>)[field];

/** Text as it is, no value as nothing, moments by ISO 8601, and whatever has an inside as JSON. */
const cellOf = (value: unknown): string => {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};
