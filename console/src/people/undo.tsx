import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useUndo } from './use-bulk-update.ts';

type Props = { operation: string; undo: ReturnType<typeof useUndo> };

/** Undoes an operation, and says what became of it. */
export const Undo = ({ operation, undo: { data, error, isPending, mutate } }: Props) => (
  <>
    <ProblemAlert error={error} />
    {data ? (
      <Text>
        Undone: {data.reverted} {data.reverted === 1 ? 'change' : 'changes'}.
        {data.skipped > 0 && ` ${data.skipped} were left, because they were changed again since.`}
      </Text>
    ) : (
      <Group mt="xs">
        <Button variant="default" loading={isPending} onClick={() => mutate(operation)}>
          Undo
        </Button>
      </Group>
    )}
  </>
);

export const UndoOf = ({ operation }: { operation: string }) => (
  <Undo operation={operation} undo={useUndo()} />
);

/**
 * Offers the undo of an operation in a notification when the user leaves its screen, until it expires.
 * @param until null if there is nothing to undo
 */
export const useUndoElsewhere = (title: string, operation: string, until: Date | null): void => {
  const router = useRouter();
  useEffect(() => {
    if (until === null) return;
    return router.subscribe('onBeforeNavigate', ({ pathChanged }) => {
      const autoClose = until.getTime() - Date.now();
      if (pathChanged && autoClose > 0)
        notifications.show({ id: operation, title, message: <UndoOf operation={operation} />, autoClose });
    });
  }, [router, title, operation, until]);
};
