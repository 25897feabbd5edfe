import { Button, Group, Table, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { EndBadge } from '../components/end-badge.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { administers } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { nameOf } from '../people/name-of.ts';

type Ending = Outputs['grants']['listEnding'][number];

const EXTENDED_DAYS = 30;

/** Thirty days from now, in the last minute of the day. */
const newEnd = (now = new Date()): Date =>
  new Date(now.getFullYear(), now.getMonth(), now.getDate() + EXTENDED_DAYS, 23, 59);

/** Access that ends within two weeks, with the choice to extend it. Renders nothing if there is none. */
export const EndingGrants = () => {
  const { roles } = useSession();
  const queryClient = useQueryClient();
  const ending = useQuery(trpc.grants.listEnding.queryOptions({}));
  const extend = useMutation(
    trpc.grants.extend.mutationOptions({
      onSuccess: ({ results }) => {
        const failed = results.filter(({ status }) => status === 'failed');
        const [first] = failed;
        notifications.show({
          message: `${results.length - failed.length} extended by ${EXTENDED_DAYS} days.${
            first ? ` ${failed.length} not: ${first.problem?.detail}` : ''
          }`,
        });
        for (const router of [trpc.grants, trpc.access, trpc.audit])
          void queryClient.invalidateQueries(router.pathFilter());
      },
    }),
  );
  if (!ending.data || ending.data.length === 0) return <ProblemAlert error={ending.error} />;
  const mine = ending.data.filter(({ client }) => administers(roles, client));
  const extendAll = (grants: readonly Ending[]): void =>
    extend.mutate({
      grants: grants.map(({ app_id, email }) => ({ app_id, email })),
      expires_at: newEnd(),
    });
  return (
    <section className="card" aria-label="Access that ends soon">
      <Group justify="space-between" mb="xs">
        <Title order={3} size="h4">
          Access that ends within two weeks
        </Title>
        {mine.length > 1 && (
          <Button size="xs" variant="default" loading={extend.isPending} onClick={() => extendAll(mine)}>
            Extend all {mine.length} by {EXTENDED_DAYS} days
          </Button>
        )}
      </Group>
      <ProblemAlert error={extend.error} />
      <Table.ScrollContainer minWidth={0}>
        <Table>
          <Table.Tbody>
            {ending.data.map((grant) => (
              <Row
                key={`${grant.app_id} ${grant.email}`}
                grant={grant}
                onExtend={mine.includes(grant) ? () => extendAll([grant]) : undefined}
              />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </section>
  );
};

const Row = ({ grant, onExtend }: { grant: Ending; onExtend: (() => void) | undefined }) => (
  <Table.Tr>
    <Table.Td>
      <Link className="text-link" to="/people/$email" params={{ email: grant.email }}>
        {nameOf(grant)}
      </Link>
      <Text size="sm" c="dimmed">
        {[grant.app_label, grant.reason].filter(Boolean).join(': ')}
      </Text>
    </Table.Td>
    <Table.Td>
      <EndBadge date={grant.expires_at} />
    </Table.Td>
    <Table.Td ta="right">
      {onExtend && (
        <Button
          size="xs"
          variant="subtle"
          aria-label={`Extend ${grant.app_label} of ${nameOf(grant)}`}
          onClick={onExtend}
        >
          Extend
        </Button>
      )}
    </Table.Td>
  </Table.Tr>
);
