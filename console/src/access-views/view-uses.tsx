import { Skeleton, Text, Timeline, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { browserName } from '../components/browser-name.ts';
import { DateText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';

const SHOWN = 20;

/** The last uses of a view, newest first. */
export const ViewUses = ({ id }: { id: number }) => {
  const uses = useQuery(trpc.accessViews.uses.queryOptions({ key: String(id), page: 1, page_size: SHOWN }));
  return (
    <>
      <Title order={3} size="h4">
        Uses
      </Title>
      <ProblemAlert error={uses.error} />
      {uses.isPending && <Skeleton height={80} />}
      {uses.data?.length === 0 && <Text c="dimmed">The link was not opened yet.</Text>}
      {uses.data && uses.data.length > 0 && (
        <Timeline bulletSize={14} lineWidth={2}>
          {uses.data.map(({ timestamp, ip_address, user_agent }) => (
            <Timeline.Item key={timestamp.getTime()} title={<DateText date={timestamp} />}>
              <Text c="dimmed" size="sm" title={user_agent}>
                {`${ip_address} ${browserName(user_agent)}`}
              </Text>
            </Timeline.Item>
          ))}
        </Timeline>
      )}
    </>
  );
};
