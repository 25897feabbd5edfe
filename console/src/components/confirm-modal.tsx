import { Button, Group, Modal, Stack } from '@mantine/core';
import type { ReactNode } from 'react';

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
  <Modal
    opened={isOpen}
    onClose={onClose}
    title={title}
    centered
    closeButtonProps={{ 'aria-label': 'Close' }}
  >
    <Stack>
      {children}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <Button
          onClick={() => {
            onClose();
            onConfirm();
          }}
        >
          {action}
        </Button>
      </Group>
    </Stack>
  </Modal>
);
