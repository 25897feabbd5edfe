import { Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { CHART_DAYS } from '../charts/chart-days.ts';
import { LineChart } from '../charts/line-chart.tsx';
import { Sparkline } from '../charts/sparkline.tsx';
import { dayText, shortDayText } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ended, isWholePeriod } from '../usage/usage-filter.ts';

type UsageDay = Outputs['usage']['series'][number];

/** The last four weeks of a person, and the four weeks before. */
const useUsage = (email: string) =>
  useQuery(
    trpc.usage.series.queryOptions(
      { email, window: 2 * CHART_DAYS },
      { select: (days) => ({ before: days.slice(0, CHART_DAYS), now: days.slice(CHART_DAYS) }) },
    ),
  );

type Usage = { before: UsageDay[]; now: UsageDay[] };

/** The usage in a line of text and a sparkline. */
export const UsageCard = ({ email }: { email: string }) => {
  const { data, error, isPending } = useUsage(email);
  return (
    <Stack className="card" gap="sm" component="section" aria-labelledby="usage-card">
      <Title order={2} size="h3" id="usage-card">
        Usage, {CHART_DAYS} days
      </Title>
      <ProblemAlert error={error} />
      {isPending && <Skeleton height={88} />}
      {data && (
        <>
          {isUsed(data) && (
            <Sparkline
              values={actionsOf(data.now)}
              before={actionsOf(data.before)}
              width="100%"
              height={56}
            />
          )}
          <Text size="sm" c="dimmed">
            {summaryOf(data)}
          </Text>
        </>
      )}
    </Stack>
  );
};

/** The usage by day, compared with the four weeks before. */
export const UsageComparison = ({ email }: { email: string }) => {
  const { data, error, isPending } = useUsage(email);
  return (
    <Stack className="card" component="section" aria-labelledby="usage">
      <Group justify="space-between">
        <Title order={2} size="h3" id="usage">
          Usage of the last {CHART_DAYS} days
        </Title>
        <Link className="action-link" to="/usage" search={{ email }}>
          All usage
        </Link>
      </Group>
      <ProblemAlert error={error} />
      {isPending && <Skeleton height={240} />}
      {data && (
        <>
          <Text size="sm">{summaryOf(data)}</Text>
          {isUsed(data) && (
            <LineChart
              title={`Actions by day, and ${CHART_DAYS} days before. The days in apps have the numbers.`}
              series={[
                { name: 'Actions', kind: 'main', isUnfinished: true, points: pointsOf(data.now) },
                { name: `${CHART_DAYS} days before`, kind: 'before', points: pointsOf(data.before) },
              ]}
              height={160}
            />
          )}
        </>
      )}
    </Stack>
  );
};

const actionsOf = (days: UsageDay[]): number[] => days.map(({ actions }) => actions);

const pointsOf = (days: UsageDay[]) =>
  days.map(({ day, actions }) => ({ label: dayText(day), axis: shortDayText(day), value: actions }));

const sumOf = (days: UsageDay[]): number => days.reduce((sum, { actions }) => sum + actions, 0);

const isUsed = ({ now, before }: Usage): boolean => sumOf(now) + sumOf(before) > 0;

const counted = (count: number, one: string): string =>
  `${count.toLocaleString()} ${count === 1 ? one : `${one}s`}`;
const percent = new Intl.NumberFormat('en-GB', { style: 'percent', signDisplay: 'exceptZero' });

/** The percentage leaves out today, which has not ended, and its counterpart. */
const summaryOf = ({ now, before }: Usage): string => {
  const [actions, earlier] = [sumOf(now), sumOf(before)];
  const [full, earlierFull] = [sumOf(ended(now)), sumOf(ended(before))];
  if (actions === 0 && earlier === 0) return `No usage in ${CHART_DAYS} days.`;
  const active = now.filter(({ actions: count }) => count > 0).length;
  const compared =
    earlier === 0
      ? `none in the ${CHART_DAYS} days before`
      : full === 0 || earlierFull === 0 || !isWholePeriod(actionsOf(before), 'day')
        ? `${earlier.toLocaleString()} in the ${CHART_DAYS} days before`
        : full === earlierFull
          ? `as many in ${CHART_DAYS - 1} full days as in the ${CHART_DAYS - 1} before`
          : `${percent.format(full / earlierFull - 1)} in ${CHART_DAYS - 1} full days against the ${CHART_DAYS - 1} before`;
  return `${counted(actions, 'action')} on ${counted(active, 'day')} · ${compared}`;
};
