import { Group, Skeleton, Stack, Text, Timeline, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { isOfMembership, labelOf } from '../audit/audit-actions.ts';
import { Changes } from '../components/changes.tsx';
import { useClientName } from '../components/client-select.tsx';
import { DateText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';

const SHOWN = 20;

/** What was changed about the person, newest first. */
export const PersonHistory = ({ email }: { email: string }) => {
  const nameOfClient = useClientName();
  const entries = useQuery(trpc.audit.list.queryOptions({ person: email, limit: SHOWN }));
  return (
    <Stack className="card">
      <Group justify="space-between">
        <Title order={2} size="h3">
          History
        </Title>
        <Link className="action-link" to="/audit" search={{ target: email }}>
          Open in the audit trail
        </Link>
      </Group>
      <ProblemAlert error={entries.error} />
      {entries.isPending && <Skeleton height={160} />}
      {entries.data?.length === 0 && <Text c="dimmed">Nothing was recorded yet.</Text>}
      <Timeline bulletSize={8} lineWidth={1} color="gray">
        {entries.data?.map(({ id, action, actor, target, timestamp, details, clients }) => (
          <Timeline.Item key={id} title={titleOf(email, { action, target, details })}>
            <Text size="sm" c="dimmed">
              {actor || 'The service'}, <DateText date={timestamp} />
              {isOfMembership(action) && `, in ${clients.map(nameOfClient).join(', ')}`}
            </Text>
            {!action.startsWith('group.') && <Changes details={details} />}
          </Timeline.Item>
        ))}
      </Timeline>
    </Stack>
  );
};

type Entry = Pick<Outputs['audit']['list'][number], 'action' | 'target' | 'details'>;

/** Of a change of a group, what it says about the person. */
const titleOf = (email: string, { action, target, details }: Entry): string => {
  // On the screen of the person: `Changed roles`.
  if (!action.startsWith('group.')) return labelOf(action).replace(/( of)? a person$/, '');
  const { added = [] } = Object(details.members) as { added?: string[] }; // of the audit trail
  return `${added.includes(email) ? 'Added to' : 'Removed from'} the group ${target}`;
};
