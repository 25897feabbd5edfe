import { Group, Stack, Text, Timeline, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { isOfMembership, labelOf } from '../audit/audit-actions.ts';
import { Changes } from '../components/changes.tsx';
import { useClientName } from '../components/client-select.tsx';
import { DateText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';

const SHOWN = 20;

/** What was changed about the person, newest first. */
export const PersonHistory = ({ email }: { email: string }) => {
  const nameOfClient = useClientName();
  const entries = useQuery(trpc.audit.list.queryOptions({ target: email, limit: SHOWN }));
  return (
    <Stack className="card" mt="md">
      <Group justify="space-between">
        <Title order={2} size="h3">
          History
        </Title>
        <Link className="action-link" to="/audit" search={{ target: email }}>
          Open in the audit trail
        </Link>
      </Group>
      <ProblemAlert error={entries.error} />
      {entries.data?.length === 0 && <Text c="dimmed">Nothing was recorded yet.</Text>}
      <Timeline bulletSize={14}>
        {entries.data?.map(({ id, action, actor, timestamp, details, clients }) => (
          <Timeline.Item key={id} title={labelOf(action)}>
            <Text size="sm" c="dimmed">
              {actor || 'the service'}, <DateText date={timestamp} />
              {isOfMembership(action) && `, in ${clients.map(nameOfClient).join(', ')}`}
            </Text>
            <Changes details={details} />
          </Timeline.Item>
        ))}
      </Timeline>
    </Stack>
  );
};
