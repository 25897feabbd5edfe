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
  /** The label of the button that confirms. */
  action: string;
  /** The label of the button that cancels. */
  dismiss?: string | undefined;
  /** Whether the action is irreversible. */
  isDanger?: boolean;
  run: () => void;
  state: { isPending: boolean; error: unknown };
  onClose: () => void;
};

/** Asks before an action, stays open until it has succeeded, and shows a failure next to its button. */
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

/** A mutation with a message after its success. */
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
