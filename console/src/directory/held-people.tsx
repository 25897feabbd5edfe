import { Button, Stack, Text, Title } from '@mantine/core';
import { isProblem } from '@steward/client';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { ActionDialog } from '../components/action-dialog.tsx';
import type { Column } from '../components/column.ts';
import { DateText, timeText } from '../components/date-text.tsx';
import { Notice } from '../components/notice.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { StatusText } from '../components/status-text.tsx';
import { notify } from '../components/toasts.ts';
import { PERSON_COLUMNS } from './change-list.tsx';
import { peopleText } from './change-words.ts';
import { type Directory, useDirectoryRefresh } from './use-directory.ts';

/** As long as an approval is valid. */
const DAY_MS = 86_400_000;

const PAGE_SIZE = 50;

type Props = { directory: Directory };

/** The people whose memberships a directory wants to end, which waits for an approval. */
export const HeldPeople = ({ directory }: Props) => {
  const { client, held } = directory;
  const people = useHeld(client);
  const approved = people.data?.pages.flat().find(({ approved_at: at }) => at !== null)?.approved_at;
  if (held > 0) return <Held directory={directory} people={people} />;
  if (!approved) return null;
  return (
    <Notice>
      Approved. The directory can remove these people when it tries again, until{' '}
      {timeText(new Date(approved.getTime() + DAY_MS))}.
    </Notice>
  );
};

const useHeld = (client: number) =>
  useInfiniteQuery(
    trpc.directory.listHeld.infiniteQueryOptions(
      { id: client, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );

const Held = ({
  directory: { client, held, held_until: until },
  people,
}: Props & { people: ReturnType<typeof useHeld> }) => {
  /** What was shown when the question was opened. */
  const [asked, setAsked] = useState<Seen | null>(null);
  const { approve, state, hasChanged, reset, prompt } = useApproval(client, () => setAsked(null));
  const whose = whoseText(held);
  return (
    <Stack
      className="card"
      component="section"
      aria-labelledby="directory-held"
      bd="2px solid var(--mantine-color-error)"
    >
      <Title order={2} size="h3" id="directory-held" c="var(--mantine-color-error)">
        The directory wants to end {whose}
      </Title>
      <Text maw="48rem">
        Steward has put this on hold, because it may be a mistake. In a day, a directory can remove ten
        members, or a fifth of all if that is more, but never the last admin. Until you approve, these people
        stay members.
      </Text>
      <PagedTable
        label="People on hold"
        columns={COLUMNS}
        pages={people}
        keyOf={({ id }) => id}
        empty={null}
      />
      {hasChanged && (
        <Text role="alert" c="var(--mantine-color-error)">
          The list has changed since you saw it, so nothing was approved. Look at it again.
        </Text>
      )}
      <Text maw="48rem">
        If it is a mistake, do not approve. Correct the directory instead: people it sends again as active
        leave this list.
      </Text>
      <div>
        <Button
          color="red"
          onClick={() => {
            reset();
            if (until) setAsked({ held, held_until: until });
          }}
        >
          Approve…
        </Button>
      </div>
      <ActionDialog
        isOpen={asked !== null}
        title={`Let the directory end ${whoseText(asked?.held ?? held)}?`}
        action="Approve"
        isDanger
        run={() => asked !== null && approve(asked)}
        state={state}
        onClose={() => setAsked(null)}
      >
        <Text>
          They lose all access to this client when the directory tries again, usually within an hour. The
          approval is valid for a day.
        </Text>
      </ActionDialog>
      {prompt}
    </Stack>
  );
};

const whoseText = (count: number): string =>
  `${count === 1 ? 'the membership' : 'the memberships'} of ${peopleText(count)}`;

type Seen = { held: number; held_until: Date };

const useApproval = (client: number, onDone: () => void) => {
  const refresh = useDirectoryRefresh();
  const { onError, prompt } = usePasswordConfirmation();
  const mutation = useMutation(
    trpc.directory.approve.mutationOptions({
      onSuccess: (_, { held }) => {
        refresh();
        onDone();
        notify(`Approved that the directory ends ${whoseText(held)}.`);
      },
      onError: (error, input) => {
        onError(error, () => mutation.mutate(input));
        if (!isProblem(error, 'precondition-failed')) return;
        refresh();
        onDone();
      },
    }),
  );
  const hasChanged = isProblem(mutation.error, 'precondition-failed');
  return {
    approve: (seen: Seen) => mutation.mutate({ id: client, ...seen }),
    state: {
      isPending: mutation.isPending,
      error: hasChanged ? null : withoutConfirmation(mutation.error),
    },
    hasChanged,
    reset: mutation.reset,
    prompt,
  };
};

type HeldRow = Outputs['directory']['listHeld'][number];

const COLUMNS: Column<HeldRow>[] = [
  ...PERSON_COLUMNS,
  { heading: 'Held since', width: '9.5rem', cell: ({ held_at: date }) => <DateText date={date} none="–" /> },
  {
    heading: 'State',
    width: '9.5rem',
    onPhone: 'corner',
    cell: ({ approved_at, is_last_admin }) =>
      approved_at === null ? (
        <StatusText label={is_last_admin ? 'Held: last admin' : 'Held'} color="yellow" />
      ) : (
        <StatusText label="Approved" color="green" />
      ),
  },
];
