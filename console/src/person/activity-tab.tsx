import { Button, Group, Skeleton, Stack, Text, Timeline, Title } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { trpc } from '../api.ts';
import { labelOf } from '../audit/audit-actions.ts';
import { DateText, dayText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import classes from './person.module.css';
import { UsageComparison } from './usage-comparison.tsx';

/** The person's actions in apps and in Steward. */
export const ActivityTab = ({ email }: { email: string }) => (
  <Stack>
    <UsageComparison email={email} />
    <ActiveDays email={email} />
    {mayDo(useSession().roles, 'read-audit') && <OwnActions email={email} />}
  </Stack>
);

const DAYS = 14;

/** The days on which the person used apps, newest first. */
const ActiveDays = ({ email }: { email: string }) => {
  const pages = useInfiniteQuery(
    trpc.users.activity.infiniteQueryOptions(
      { email, limit: DAYS },
      { getNextPageParam: (page) => (page.length < DAYS ? undefined : page.at(-1)?.day) },
    ),
  );
  const days = pages.data?.pages.flat() ?? [];
  return (
    <Stack className="card" component="section" aria-labelledby="days" gap="xs">
      <Title order={2} size="h3" id="days">
        Days in apps
      </Title>
      <ProblemAlert error={pages.error} />
      {pages.isPending && <Skeleton height={160} />}
      {pages.isSuccess && days.length === 0 && <Text c="dimmed">Has used no app yet.</Text>}
      {days.length > 0 && (
        <ul className={`${classes.rows} ${classes.days}`}>
          {days.map(({ day, apps }) => (
            <li key={day} className={classes.day}>
              <Text span size="sm" fw={600}>
                {dayText(day)}
              </Text>
              <Text span size="sm" c="dimmed" className="break-words">
                {apps.map(usesOf).join(' · ')}
              </Text>
            </li>
          ))}
        </ul>
      )}
      {pages.hasNextPage && (
        <Group>
          <Button
            variant="default"
            loading={pages.isFetchingNextPage}
            onClick={() => void pages.fetchNextPage()}
          >
            Show older days
          </Button>
        </Group>
      )}
    </Stack>
  );
};

const usesOf = ({ label, actions }: { label: string; actions: number }): string =>
  `${label}: ${actions.toLocaleString()} ${actions === 1 ? 'action' : 'actions'}`;

const SHOWN = 20;

/** Logins and changes by the person, newest first. */
const OwnActions = ({ email }: { email: string }) => {
  const entries = useQuery(trpc.audit.list.queryOptions({ actor: email, limit: SHOWN }));
  return (
    <Stack className="card" component="section" aria-labelledby="own-actions">
      <Group justify="space-between">
        <Title order={2} size="h3" id="own-actions">
          Actions in Steward
        </Title>
        <Link className="action-link" to="/audit" search={{ actor: email }}>
          Open in the audit trail
        </Link>
      </Group>
      <ProblemAlert error={entries.error} />
      {entries.isPending && <Skeleton height={160} />}
      {entries.data?.length === 0 && <Text c="dimmed">Nothing was recorded yet.</Text>}
      <Timeline bulletSize={8} lineWidth={1} color="gray">
        {entries.data?.map(({ id, action, target, timestamp }) => (
          <Timeline.Item key={id} title={labelOf(action)}>
            <Text size="sm" c="dimmed" className="break-words">
              {target !== '' && target !== email && `${target}, `}
              <DateText date={timestamp} />
            </Text>
          </Timeline.Item>
        ))}
      </Timeline>
    </Stack>
  );
};
