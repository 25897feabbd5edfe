import { Stack, Text, Timeline, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { DateText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';

const SHOWN = 20;

/** What was changed about the person, newest first. */
export const PersonHistory = ({ email }: { email: string }) => {
  const entries = useQuery(trpc.audit.list.queryOptions({ target: email, limit: SHOWN }));
  return (
    <Stack className="card" mt="md">
      <Title order={2} size="h3">
        History
      </Title>
      <ProblemAlert error={entries.error} />
      {entries.data?.length === 0 && <Text c="dimmed">Nothing was recorded yet.</Text>}
      <Timeline bulletSize={14}>
        {entries.data?.map(({ id, action, actor, timestamp, details }) => (
          <Timeline.Item key={id} title={action}>
            <Text size="sm" c="dimmed">
              {actor || 'the service'}, <DateText date={timestamp} />
            </Text>
            <Changes details={details} />
          </Timeline.Item>
        ))}
      </Timeline>
    </Stack>
  );
};

/** Old and new values, as the audit trail records them by field. */
const Changes = ({ details }: { details: Record<string, unknown> }) =>
  Object.entries(details).map(([field, value]) => (
    <Text key={field} size="sm">
      {field}: {describe(value)}
    </Text>
  ));

const describe = (value: unknown): string =>
  isChange(value) ? `${JSON.stringify(value.from)} → ${JSON.stringify(value.to)}` : JSON.stringify(value);

const isChange = (value: unknown): value is { from: unknown; to: unknown } =>
  typeof value === 'object' && value !== null && 'from' in value && 'to' in value;
