import { Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { Dialog, DialogButtons } from './dialog.tsx';

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
  onConfirm: () => void;
  onClose: () => void;
};

/** Asks before an action that other people notice. The focus is on Cancel. */
export const ConfirmModal = ({ isOpen, title, children, action, onConfirm, onClose, ...buttons }: Props) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={title}>
    <Stack>
      {children}
      <DialogButtons
        {...buttons}
        action={action}
        onAction={() => {
          onConfirm();
          onClose();
        }}
        onClose={onClose}
      />
    </Stack>
  </Dialog>
);
