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
        Page groups
      </Title>
      <Text c="dimmed" size="sm">
        Groups of pages within the app.
      </Text>
      <ProblemAlert error={stacks.error} />
      {stacks.isPending && <Skeleton height={80} />}
      {stacks.data?.length === 0 && (
        <Text c="dimmed">The app has no page groups. A package brings them.</Text>
      )}
      {stacks.data && stacks.data.length > 0 && (
        <Stack component="ul" className="plain-list" gap="xs">
          {stacks.data.map(({ id: stack, slug, label }) => (
            <Group key={stack} component="li" justify="space-between">
              <Text component="span">{label}</Text>
              <Text component="span" c="dimmed" size="sm">
                {slug}
              </Text>
            </Group>
          ))}
        </Stack>
      )}
    </Stack>
  );
};
