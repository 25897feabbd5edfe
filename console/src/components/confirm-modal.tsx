import { Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { Dialog, DialogButtons } from './dialog.tsx';

type Props = {
  isOpen: boolean;
  title: string;
  /** What will happen. */
  children: ReactNode;
  /** The label of the button that goes ahead. */
  action: string;
  onConfirm: () => void;
  onClose: () => void;
};

/** Asks before an action that other people notice. The focus is on Cancel. */
export const ConfirmModal = ({ isOpen, title, children, action, onConfirm, onClose }: Props) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={title}>
    <Stack>
      {children}
      <DialogButtons
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
