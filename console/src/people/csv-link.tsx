import { Anchor } from '@mantine/core';
import type { conditionsOf } from './people-filter.ts';

/** All matching people, not only those that were loaded. */
export const CsvLink = ({ conditions }: { conditions: ReturnType<typeof conditionsOf> }) => {
  const query = new URLSearchParams({ format: 'csv' });
  for (const [name, value] of Object.entries(conditions)) {
    if (value !== undefined) query.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return (
    <Anchor href={`/api/v1/jb/users/?${query}`} download="people.csv">
      Download CSV
    </Anchor>
  );
};
