import { Group, Skeleton, Stack, Table, Text, Title } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { trpc } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';

type RankingProps = {
  title: string;
  headings: string[];
  rows: { key: string; cells: ReactNode[] }[] | undefined;
  actions?: ReactNode;
};

/** The first items of a ranking, highest first. */
export const Ranking = ({ title, headings, rows, actions }: RankingProps) => (
  <Stack className="card" gap="xs">
    <Group justify="space-between">
      <Title order={2} size="h3">
        {title}
      </Title>
      {actions}
    </Group>
    {rows === undefined && <Skeleton height={120} />}
    {rows?.length === 0 && <Text c="dimmed">No usage in these days. Choose a longer period.</Text>}
    {rows !== undefined && rows.length > 0 && (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      <section className="scrolls" aria-label={title} tabIndex={0}>
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
      </section>
    )}
  </Stack>
);

type TopProps = { appId: string; days: number };

const useTop = ({ appId, days }: TopProps) =>
  useQuery(
    trpc.usage.top.queryOptions(
      { app_id: appId, window: days },
      { enabled: days > 0, placeholderData: keepPreviousData },
    ),
  );

/** The most active people of an app. */
export const TopUsers = (props: TopProps) => {
  const top = useTop(props);
  const rows = top.data?.users.map(({ email, full_name, actions, days }) => ({
    key: email,
    cells: [
      <Link key="link" className="text-link" to="/people/$email" params={{ email }}>
        {full_name || email}
      </Link>,
      days.toLocaleString(),
      actions.toLocaleString(),
    ],
  }));
  return (
    <div>
      <ProblemAlert error={top.error} />
      {!top.isError && <Ranking title="Top people" headings={['Person', 'Days', 'Actions']} rows={rows} />}
    </div>
  );
};

/** The most used stacks of an app. */
export const TopStacks = (props: TopProps) => {
  const top = useTop(props);
  // The list of people shows the reason.
  if (top.isError) return null;
  const rows = top.data?.stacks.map(({ stack, label, actions }) => ({
    key: stack,
    cells: [label, actions.toLocaleString()],
  }));
  return <Ranking title="Top page groups" headings={['Page group', 'Actions']} rows={rows} />;
};
