import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode, Ref } from 'react';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { useSession } from '../session/use-session.ts';
import { hasErrors } from './invite-rows.ts';
import { appsOf, isComplete, MAX_ROWS, peopleOf, type useInviteList } from './use-invite-list.ts';

type List = ReturnType<typeof useInviteList>;
type Props = { ref: Ref<HTMLDivElement>; list: List; onClear: () => void };

/** How many people are invited, what prevents it, and the actions for all of them. */
export const SendBar = ({ ref, list, onClear }: Props) => {
  const { rows, people } = list;
  const { sends_mail } = useSession();
  const [isClearing, clearing] = useDisclosure();
  const faulty = people.filter(hasErrors).length;
  const ready = people.length - faulty;
  const isBlocked = ready === 0 || people.length > MAX_ROWS || !isComplete(list.access) || list.hasUnchecked;
  const verb = sends_mail ? 'Send' : 'Create';
  return (
    <Group ref={ref} className="scroll-target" justify="space-between" mb="md" gap="sm">
      <Stack gap={0} flex="1 1 16rem">
        {rows.length > 0 && (
          <Title order={2} size="h3">
            {peopleOf(rows.length)}
          </Title>
        )}
        <Status list={list} />
      </Stack>
      <Group gap="xs">
        {rows.length > 0 && (
          <Button variant="subtle" onClick={clearing.open}>
            Remove all
          </Button>
        )}
        {rows.length < people.length && people.length > 1 && (
          <Button variant="default" onClick={list.listTyped}>
            Edit as a list
          </Button>
        )}
        <Button disabled={isBlocked} loading={list.isSending} onClick={list.submit}>
          {faulty > 0 && ready > 0 ? `${verb} ${ready}, keep ${faulty}` : `${verb} ${countText(ready)}`}
        </Button>
      </Group>
      <ConfirmModal
        isOpen={isClearing}
        title={`Remove ${peopleOf(rows.length)} from the list?`}
        action="Remove all"
        onConfirm={onClear}
        onClose={clearing.close}
      >
        You lose your corrections in the list.
      </ConfirmModal>
    </Group>
  );
};

const countText = (count: number): string => {
  if (count === 0) return 'invitations';
  return count === 1 ? '1 invitation' : `${count.toLocaleString()} invitations`;
};

const Status = ({ list }: { list: List }) => (
  <>
    <ListStatus list={list} />
    <NoApps list={list} />
  </>
);

/** Whether the list can be sent. */
const ListStatus = ({ list: { rows, people, hasUnchecked } }: { list: List }) => {
  const faulty = rows.filter(hasErrors).length;
  const surplus = people.length - MAX_ROWS;
  if (surplus > 0)
    return <Line isFault>{`At most ${MAX_ROWS} people can be invited at once. Remove ${surplus}.`}</Line>;
  if (faulty > 0)
    return (
      <Line isFault>
        {faulty === 1 ? '1 row has errors and stays' : `${faulty} rows have errors and stay`} in the list when
        you send the others.
      </Line>
    );
  if (rows.length === 0) return null;
  return <Line>{hasUnchecked ? 'Checking the list…' : 'All of them can be invited.'}</Line>;
};

/** Who gets no app by their invitation: members without apps and groups. */
const NoApps = ({ list: { people, access } }: { list: List }) => {
  if (access.groups.length > 0 || access.role !== '') return null;
  const count = people.filter((row) => appsOf(row, access).length === 0).length;
  if (count === 0) return null;
  return (
    <Line>
      {count === people.length ? 'They get no apps.' : `${count} of ${people.length} get no apps.`} Choose
      apps above, or grant them later.
    </Line>
  );
};

const Line = ({ isFault = false, children }: { isFault?: boolean; children: ReactNode }) => (
  <Text size="sm" role={isFault ? 'alert' : 'status'} c={isFault ? 'var(--mantine-color-error)' : 'dimmed'}>
    {children}
  </Text>
);
