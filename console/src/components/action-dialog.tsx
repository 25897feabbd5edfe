import { Stack } from '@mantine/core';
import { type UseMutationOptions, useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Dialog, DialogButtons } from './dialog.tsx';
import { ProblemAlert } from './problem-alert.tsx';
import { notify } from './toasts.ts';

type Props = {
  isOpen: boolean;
  title: string;
  /** What will happen. */
  children: ReactNode;
  /** The label of the button that goes ahead. */
  action: string;
  /** The label of the button that does not. */
  dismiss?: string | undefined;
  /** Whether it takes something away for good. */
  isDanger?: boolean;
  run: () => void;
  state: { isPending: boolean; error: unknown };
  onClose: () => void;
};

/** Asks before an action, stays until it has succeeded, and says beside its button why it has not. */
export const ActionDialog = ({ isOpen, title, children, run, state, onClose, ...buttons }: Props) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={title}>
    <Stack>
      <div>{children}</div>
      <ProblemAlert error={state.error} />
      <DialogButtons {...buttons} onAction={run} onClose={onClose} isPending={state.isPending} />
    </Stack>
  </Dialog>
);

type Done = { message: string; onDone: () => void };

/** A mutation whose success is announced. */
export const useAction = <Output, Failure, Input>(
  options: UseMutationOptions<Output, Failure, Input>,
  { message, onDone }: Done,
) =>
  useMutation({
    ...options,
    onSuccess: () => {
      onDone();
      notify(message);
    },
  });
