import { Alert, Button, Group, List, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { dateOf, shortDateOf } from '../components/date-text.tsx';
import { DisclosureButton } from '../components/disclosure-button.tsx';
import { nameOf } from '../components/name-of.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useIsOver } from '../server-clock.ts';
import { isHarmless, reasonOf, sentencesOf } from './bulk-words.ts';
import { Undo } from './undo.tsx';
import { useUndoElsewhere } from './undo-offer.ts';
import { type BulkOutcome, type BulkRow, useUndo } from './use-bulk-update.ts';
import { useExtendGrants } from './use-extend-grants.ts';

const MAX_SHOWN = 20;

type Names = ReadonlyMap<string, string>;
type Props = {
  outcome: BulkOutcome;
  /** The people who were shown. Others are named by their address. */
  people: readonly Parameters<typeof nameOf>[0][];
  /** The groups that were chosen. */
  groups?: readonly { name: string }[];
  onClose: () => void;
};

/** How many people were changed, and on request, who was not and why. With the undo. */
export const BulkResults = ({ outcome, people, groups = [], onClose }: Props) => {
  const { change, operation, undoUntil, results } = outcome;
  const names = new Map(people.map((person) => [person.email, nameOf(person)]));
  const undo = useUndo();
  const [isOpen, details] = useDisclosure();
  const apps = useQuery(trpc.apps.list.queryOptions({})).data ?? [];
  const labels = apps.filter(({ id }) => change.apps?.includes(id)).map(({ label }) => label);
  const given = change.groups ? groups.map(({ name }) => name) : labels;
  const [done, ...others] = sentencesOf(outcome, given, names);
  const unchanged = results.filter(({ status }) => status === 'unchanged');
  const notDone = results.filter(({ status }) => status !== 'ok');
  const isOver = useIsOver(undoUntil);
  const canUndo =
    undoUntil !== null && notDone.length < results.length && (!isOver || undo.isPending || undo.isSuccess);
  useUndoElsewhere(done, operation, canUndo && !undo.isPending && !undo.data ? undoUntil : null);
  return (
    <Alert
      mb="sm"
      py="xs"
      role="status"
      color={results.every((row) => isHarmless(change, row)) ? 'green' : 'orange'}
      withCloseButton
      closeButtonLabel="Close"
      onClose={onClose}
    >
      <Group gap="sm">
        <span>
          <strong>{done}</strong> {others.join(' ')}
        </span>
        {canUndo && <Undo operation={operation} undo={undo} />}
        {change.apps && change.expires_at && unchanged.length > 0 && (
          <SameEnd
            rows={unchanged}
            apps={change.apps}
            end={change.expires_at}
            isUndone={undo.isPending || undo.isSuccess}
          />
        )}
        {notDone.length > 0 && (
          <DisclosureButton isOpen={isOpen} onToggle={details.toggle}>
            Details
          </DisclosureButton>
        )}
      </Group>
      {isOpen && <Lines rows={notDone} names={names} textOf={(row) => reasonOf(change, row)} />}
    </Alert>
  );
};

type LinesProps<Row> = {
  rows: readonly Row[];
  names?: Names;
  textOf: (row: Row) => string | undefined;
};

/** The first people, with a text about each. */
const Lines = <Row extends { email: string }>({ rows, names = new Map(), textOf }: LinesProps<Row>) => (
  <>
    <List size="sm">
      {rows.slice(0, MAX_SHOWN).map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are replaced together, and may name a person twice
        <List.Item key={index}>
          <span title={row.email}>{names.get(row.email) ?? row.email}</span>: {textOf(row)}
        </List.Item>
      ))}
    </List>
    {rows.length > MAX_SHOWN && <Text size="sm">and {rows.length - MAX_SHOWN} others.</Text>}
  </>
);

type SameEndProps = { rows: readonly BulkRow[]; apps: readonly string[]; end: Date; isUndone: boolean };

/**
 * Offers to set the same end for people who already had the apps, unless the change is undone. Apps by groups and roles are
 * refused.
 */
const SameEnd = ({ rows, apps, end, isUndone }: SameEndProps) => {
  const { mutate, data, error, isPending } = useExtendGrants();
  const grants = rows.flatMap(({ email }) => apps.map((app_id) => ({ app_id, email })));
  if (data) {
    const done = data.filter(({ status }) => status === 'ok').length;
    return (
      <>
        {done > 0 && (
          <Text size="sm">
            {done.toLocaleString()} now {done === 1 ? 'ends' : 'end'} on {dateOf(end)}, too.
          </Text>
        )}
        <Lines
          rows={data.filter(({ status }) => status === 'failed')}
          textOf={({ problem }) => problem?.detail}
        />
      </>
    );
  }
  if (isUndone) return null;
  return (
    <>
      <ProblemAlert error={error} />
      <Button size="xs" variant="default" loading={isPending} onClick={() => mutate({ grants, end })}>
        Let theirs end on {shortDateOf(end)}, too
      </Button>
    </>
  );
};
