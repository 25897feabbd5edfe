import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import { dateOf, shortDateOf } from '../components/date-text.tsx';
import { EndBadge } from '../components/end-badge.tsx';
import { nameOf } from '../components/name-of.ts';
import { PersonLink } from '../components/person-link.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { useExtendGrants } from '../people/use-extend-grants.ts';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';

type Ending = Outputs['grants']['listEnding'][number];

/** `Churn of Kenji Ito` */
const nameOfGrant = (grant: Ending): string => `${grant.app_label} of ${nameOf(grant)}`;

const EXTENDED_DAYS = 30;

/** Thirty days from now, in the last minute of the day. */
const newEnd = (now = new Date()): Date =>
  new Date(now.getFullYear(), now.getMonth(), now.getDate() + EXTENDED_DAYS, 23, 59);

/** The outcome for the grants, and why some were refused. */
const resultText = (
  grants: readonly Ending[],
  results: Outputs['grants']['extend']['results'],
  end: Date,
): string => {
  const done = grants.filter((_grant, index) => results[index]?.status === 'ok');
  const refused = results.filter(({ status }) => status === 'failed');
  const [only] = done;
  const name = done.length === 1 && only ? nameOfGrant(only) : done.length.toLocaleString();
  return [
    done.length > 0 && `${name} now ${done.length === 1 ? 'ends' : 'end'} on ${dateOf(end)}.`,
    refused.length > 0 && `${refused.length} not: ${refused[0]?.problem?.detail}`,
  ]
    .filter(Boolean)
    .join(' ');
};

/** Two weeks from now, after the last minute of the day, because ends are set to that minute. */
const inTwoWeeks = (now = new Date()): Date =>
  new Date(now.getFullYear(), now.getMonth(), now.getDate() + 15);

/** Access that ends within two weeks, in a client or in all, with the choice to extend it. Renders nothing if there is none. */
export const EndingGrants = ({ client: chosen }: { client: number | undefined }) => {
  const { roles } = useSession();
  const ending = useQuery(trpc.grants.listEnding.queryOptions({ client: chosen, ends_before: inTwoWeeks() }));
  const { mutate, isPending, error } = useExtendGrants();
  if (!ending.data || ending.data.length === 0) return <ProblemAlert error={ending.error} />;
  const mine = ending.data.filter(({ client }) => mayDo(roles, 'manage-grants', client));
  const end = newEnd();
  const label = `to ${shortDateOf(end)}`;
  const extend = (grants: readonly Ending[]): void =>
    mutate({ grants, end }, { onSuccess: (rows) => notify(resultText(grants, rows, end)) });
  return (
    <section className="card" aria-label="Access that ends soon">
      <Group justify="space-between" mb="xs">
        <Title order={3} size="h3">
          Access that ends within two weeks
        </Title>
        {mine.length > 1 && (
          <Button size="xs" variant="default" loading={isPending} onClick={() => extend(mine)}>
            Extend all {mine.length} {label}
          </Button>
        )}
      </Group>
      <ProblemAlert error={error} />
      <Stack component="ul" m={0} p={0} className="divided" gap="sm">
        {ending.data.map((grant) => (
          <Row
            key={`${grant.app_id} ${grant.email}`}
            grant={grant}
            label={`Extend ${label}`}
            onExtend={mine.includes(grant) ? () => extend([grant]) : undefined}
          />
        ))}
      </Stack>
    </section>
  );
};

type RowProps = { grant: Ending; label: string; onExtend: (() => void) | undefined };

const Row = ({ grant, label, onExtend }: RowProps) => (
  <Group component="li" justify="space-between" gap="xs">
    <Stack gap={0} flex="1 1 12rem" miw={0}>
      <PersonLink person={grant} />
      <Text size="sm" c="dimmed" className="break-words">
        {[grant.app_label, grant.reason].filter(Boolean).join(': ')}
      </Text>
    </Stack>
    <Group gap="xs">
      <EndBadge date={grant.expires_at} />
      {onExtend && (
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`${label}: ${nameOfGrant(grant)}`}
          onClick={onExtend}
        >
          {label}
        </Button>
      )}
    </Group>
  </Group>
);
