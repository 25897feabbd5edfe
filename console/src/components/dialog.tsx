import { Group, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { FocusReturn } from './focus-return.tsx';

type Props = {
  isOpen: boolean;
  title: ReactNode;
  children: ReactNode;
  onClose: () => void;
  size?: 'md' | 'lg' | 'xl';
  /** Keeps what cannot be shown again when the user clicks beside it. */
  isSticky?: boolean;
};

/** A modal window. Its title is no `header` element, which would be a second banner of the page. */
export const Dialog = ({ isOpen, title, children, onClose, size = 'md', isSticky = false }: Props) => (
  <>
    {isOpen && <FocusReturn />}
    <Modal.Root
      opened={isOpen}
      onClose={onClose}
      size={size}
      centered
      returnFocus={false}
      closeOnClickOutside={!isSticky}
    >
      <Modal.Overlay />
      <Modal.Content>
        <Modal.Body pt="md">
          <Group justify="space-between" align="flex-start" wrap="nowrap" mb="md">
            <Modal.Title fw={600}>{title}</Modal.Title>
            <Modal.CloseButton aria-label="Close" />
          </Group>
          {children}
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  </>
);
