import { Group, Skeleton, Stack, Text, Timeline, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { actionsText, changesOf, Sentence } from '../audit/entry-sentence.tsx';
import { Changes } from '../components/changes.tsx';
import { DateText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';

const SHOWN = 20;

/** The changes of the person, newest first. */
export const PersonHistory = ({ email }: { email: string }) => {
  const entries = useQuery(trpc.audit.listOperations.queryOptions({ person: email, limit: SHOWN }));
  return (
    <Stack className="card">
      <Group justify="space-between">
        <Title order={2} size="h3">
          History
        </Title>
        <Link className="action-link" to="/audit" search={{ person: email, kind: 'all' }}>
          Open in the audit trail
        </Link>
      </Group>
      <ProblemAlert error={entries.error} />
      {entries.isPending && <Skeleton height={160} />}
      {entries.data?.length === 0 && <Text c="dimmed">Nothing was recorded yet.</Text>}
      <Timeline bulletSize={8} lineWidth={1} color="gray" styles={{ itemTitle: { fontWeight: 400 } }}>
        {entries.data?.map((entry) => (
          <Timeline.Item key={entry.id} title={<Sentence entry={entry} />}>
            <Text size="sm" c="dimmed">
              <DateText date={entry.timestamp} />
            </Text>
            <Text size="sm">{actionsText(entry)}</Text>
            <Changes details={changesOf(entry)} />
          </Timeline.Item>
        ))}
      </Timeline>
    </Stack>
  );
};
