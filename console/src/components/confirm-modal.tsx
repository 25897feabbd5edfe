import { Button, Group, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { Dialog } from './dialog.tsx';

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
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <Button
          onClick={() => {
            onConfirm();
            onClose();
          }}
        >
          {action}
        </Button>
      </Group>
    </Stack>
  </Dialog>
);
