import { Alert, Button, Group, List, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { dateOf, shortDateOf } from '../components/date-text.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useIsOver } from '../server-clock.ts';
import { Undo } from './undo.tsx';
import { useUndoElsewhere } from './undo-offer.ts';
import { type BulkChange, type BulkOutcome, type BulkRow, useUndo } from './use-bulk-update.ts';
import { useExtendGrants } from './use-extend-grants.ts';

const MAX_SHOWN = 20;

const DONE = {
  'grant-apps': 'Granted',
  'revoke-apps': 'Revoked',
  'add-to-groups': 'Added to groups',
  deactivate: 'Suspended',
  reactivate: 'Reactivated',
  offboard: 'Offboarded',
  'set-attribute': 'Set data permissions',
  'send-password-link': 'Sent password links',
} satisfies Record<BulkChange['action'], string>;

/** Why a change has not changed a person. */
const UNCHANGED = {
  'grant-apps': 'has it already',
  'revoke-apps': 'does not have it',
  'add-to-groups': 'is a member already',
  deactivate: 'is suspended already',
  reactivate: 'is active already',
  offboard: 'had nothing left',
  'set-attribute': 'has this value already',
  'send-password-link': 'got none',
} satisfies Record<BulkChange['action'], string>;

const countOf = (results: readonly BulkRow[], status: BulkRow['status']): number =>
  results.filter((row) => row.status === status).length;

/** Empty if there are no such rows. */
const countText = (results: readonly BulkRow[], status: BulkRow['status'], word: string): string[] => {
  const count = countOf(results, status);
  return count === 0 ? [] : [`${count.toLocaleString()} ${word}`];
};

type Props = { outcome: BulkOutcome; onClose: () => void };

/** How many people were changed, who was refused and why, and the undo. */
export const BulkResults = ({ outcome: { change, operation, undoUntil, results }, onClose }: Props) => {
  const undo = useUndo();
  const apps = useQuery(trpc.apps.list.queryOptions({})).data ?? [];
  const failed = results.filter(({ status }) => status === 'failed');
  const unchanged = results.filter(({ status }) => status === 'unchanged');
  const changed = countOf(results, 'ok');
  const counts = [
    `${changed.toLocaleString()} changed`,
    ...countText(results, 'unchanged', 'unchanged'),
    ...countText(results, 'failed', 'refused'),
  ];
  const labels = apps.filter(({ id }) => change.apps?.includes(id)).map(({ label }) => label);
  const until = change.expires_at ? `until ${dateOf(change.expires_at)}` : '';
  const title = `${[DONE[change.action], labels.join(', '), until].filter(Boolean).join(' ')}: ${counts.join(', ')}`;
  const isOver = useIsOver(undoUntil);
  const canUndo = undoUntil !== null && changed > 0 && (!isOver || undo.isPending || undo.isSuccess);
  useUndoElsewhere(title, operation, canUndo && !undo.isPending && !undo.data ? undoUntil : null);
  return (
    <Alert
      mb="sm"
      role="status"
      color={failed.length > 0 ? 'orange' : 'green'}
      title={
        <Group gap="sm">
          <span>{title}</span>
          {canUndo && <Undo operation={operation} undo={undo} />}
        </Group>
      }
      withCloseButton
      closeButtonLabel="Close"
      onClose={onClose}
    >
      {changed < results.length && (
        <>
          <Lines rows={failed} textOf={({ problem }) => problem?.detail} />
          <Lines rows={unchanged} textOf={() => UNCHANGED[change.action]} />
          {change.apps && change.expires_at && unchanged.length > 0 && (
            <SameEnd
              rows={unchanged}
              apps={change.apps}
              end={change.expires_at}
              isUndone={undo.isPending || undo.isSuccess}
            />
          )}
        </>
      )}
    </Alert>
  );
};

type LinesProps<Row> = { rows: readonly Row[]; textOf: (row: Row) => string | undefined };

/** The first people, with a text about each. */
const Lines = <Row extends { email: string }>({ rows, textOf }: LinesProps<Row>) => (
  <>
    <List size="sm">
      {rows.slice(0, MAX_SHOWN).map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are replaced together, and may name a person twice
        <List.Item key={index}>
          {row.email}: {textOf(row)}
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
      <Button mt="xs" size="xs" variant="default" loading={isPending} onClick={() => mutate({ grants, end })}>
        Let theirs end on {shortDateOf(end)}, too
      </Button>
    </>
  );
};
