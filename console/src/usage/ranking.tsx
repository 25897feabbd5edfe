import { Skeleton, Stack, Table, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

type Props = {
  title: string;
  /** The counted items; the number of actions follows. */
  headings: string[];
  rows: { key: string; cells: ReactNode[] }[] | undefined;
};

/** The first items of a ranking, highest first. */
export const Ranking = ({ title, headings, rows }: Props) => (
  <Stack className="card" gap="xs">
    <Title order={2} size="h3">
      {title}
    </Title>
    {rows === undefined && <Skeleton height={120} />}
    {rows?.length === 0 && <Text c="dimmed">There was no usage in these days. Choose a longer time.</Text>}
    {rows !== undefined && rows.length > 0 && (
      <Table className="numbers" aria-label={title}>
        <Table.Thead>
          <Table.Tr>
            {headings.map((heading, index) => (
              <Table.Th key={heading} ta={index === 0 ? 'left' : 'right'}>
                {heading}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ key, cells }) => (
            <Table.Tr key={key}>
              {cells.map((cell, index) => (
                <Table.Td key={headings[index]} ta={index === 0 ? 'left' : 'right'}>
                  {cell}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    )}
  </Stack>
);
