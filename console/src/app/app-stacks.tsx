import { Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';

/** The stacks that the app offers. */
export const AppStacks = ({ id }: { id: string }) => {
  const stacks = useQuery(trpc.apps.stacks.queryOptions({ app_id: id }));
  return (
    <Stack className="card">
      <Title order={2} size="h3">
        Stacks
      </Title>
      <Text c="dimmed" size="sm">
        Groups of pages within the app.
      </Text>
      <ProblemAlert error={stacks.error} />
      {stacks.isPending && <Skeleton height={80} />}
      {stacks.data?.length === 0 && <Text c="dimmed">The app has no stacks. A package brings them.</Text>}
      {stacks.data?.map(({ id: stack, slug, label }) => (
        <Group key={stack} justify="space-between">
          <Text>{label}</Text>
          <Text c="dimmed" size="sm">
            {slug}
          </Text>
        </Group>
      ))}
    </Stack>
  );
};
