import { Group, Skeleton, Stack, Text, Timeline, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { isOfMembership, labelOf } from '../audit/audit-actions.ts';
import { Changes, withNames } from '../components/changes.tsx';
import { useClientName } from '../components/client-select.tsx';
import { DateText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';

const SHOWN = 20;

/** The changes of the person, newest first. */
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
        {entries.data?.map((entry) => (
          <Timeline.Item key={entry.id} title={titleOf(email, entry)}>
            <Text size="sm" c="dimmed">
              {entry.actor || 'The service'}, <DateText date={entry.timestamp} />
              {isOfMembership(entry.action) && `, in ${entry.clients.map(nameOfClient).join(', ')}`}
            </Text>
            {!entry.action.startsWith('group.') && <Changes details={withNames(entry)} />}
          </Timeline.Item>
        ))}
      </Timeline>
    </Stack>
  );
};

type Entry = Pick<Outputs['audit']['list'][number], 'action' | 'target' | 'details' | 'people'>;

/** For a change of a group, the part about the person. */
const titleOf = (email: string, entry: Entry): string => {
  const { action, target } = entry;
  // On the screen of the person: `Changed roles`.
  if (!action.startsWith('group.')) return labelOf(action).replace(/( of)? a person$/, '');
  const { added = [] } = Object(withNames(entry).members) as { added?: unknown[] }; // as in the audit trail
  return `${added.includes(email) ? 'Added to' : 'Removed from'} the group ${target}`;
};
