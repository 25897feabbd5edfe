import { Button, Text } from '@mantine/core';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useUndo } from './use-bulk-update.ts';

type Props = { operation: string; undo: ReturnType<typeof useUndo> };

/** Undoes an operation, and shows the outcome. */
export const Undo = ({ operation, undo: { data, error, isPending, mutate } }: Props) => (
  <>
    <ProblemAlert error={error} />
    {data ? (
      <Text size="sm">
        Undone: {data.reverted} {data.reverted === 1 ? 'change' : 'changes'}.
        {data.skipped > 0 && ` ${data.skipped} were skipped, because they have changed since.`}
      </Text>
    ) : (
      <Button size="xs" variant="default" loading={isPending} onClick={() => mutate(operation)}>
        Undo
      </Button>
    )}
  </>
);

export const UndoOf = ({ operation }: { operation: string }) => (
  <Undo operation={operation} undo={useUndo()} />
);
