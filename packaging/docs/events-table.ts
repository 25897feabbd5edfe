import { z } from 'zod';
import { EVENT_TYPES } from '../../src/services/audit/event-types.ts';
import { markdownTable } from './markdown.ts';

type Shape = z.core.JSONSchema.BaseSchema;

/** The table of docs/events.md: the types of events, with the fields of their data. */
export const eventsTable = (): string =>
  markdownTable(
    ['Type', 'Data'],
    EVENT_TYPES.map(({ type, data }) => [
      `\`${type}\``,
      describe(z.toJSONSchema(data, { io: 'input' })),
    ]).sort(),
  );

const describe = ({ properties = {}, required = [], additionalProperties }: Shape): string => {
  const fields = Object.entries(properties).map(([name, shape]) => {
    const nested = typeof shape === 'object' ? Object.keys(itemsOf(shape).properties ?? {}) : [];
    const inner = nested.length > 0 ? ` (${nested.join(', ')})` : '';
    return `\`${name}\`${inner}${required.includes(name) ? '' : '?'}`;
  });
  return [...fields, ...(isOpen(additionalProperties) ? ['…'] : [])].join(', ') || '–';
};

/** The shape of a value, or of the items of a list. */
const itemsOf = (shape: Shape): Shape =>
  typeof shape.items === 'object' && !Array.isArray(shape.items) ? (shape.items as Shape) : shape;

const isOpen = (additional: Shape['additionalProperties']): boolean =>
  typeof additional === 'object' && Object.keys(additional).length >= 0;
