import { Button, Group, Modal } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { FocusReturn } from './focus-return.tsx';

type Props = {
  isOpen: boolean;
  title: ReactNode;
  children: ReactNode;
  onClose: () => void;
  size?: 'md' | 'lg' | 'xl';
  /** Whether a click outside is ignored, because the content cannot be shown again. */
  isSticky?: boolean;
};

/**
 * A modal window. Its title is not in a `header` element, which would be a second banner of the page. Screens have many dialogs, so a
 * dialog is not rendered before it is opened.
 */
export const Dialog = ({ isOpen, title, children, onClose, size = 'md', isSticky = false }: Props) => {
  const [isMounted, setMounted] = useState(false);
  // Closed at first, so that it is animated when it opens.
  useEffect(() => {
    if (isOpen) setMounted(true);
  }, [isOpen]);
  if (!isOpen && !isMounted) return null;
  return (
    <>
      {isOpen && <FocusReturn />}
      <Modal.Root
        opened={isOpen && isMounted}
        onClose={onClose}
        size={size}
        centered
        returnFocus={false}
        closeOnClickOutside={!isSticky}
      >
        <Modal.Overlay />
        <Modal.Content bg="var(--console-card)" bd="1px solid var(--console-line)">
          <Modal.Body pt="md" pos="relative">
            <Modal.Title fz="lg" fw={650} lh={1.4} mb="md" pr="xl">
              {title}
            </Modal.Title>
            {children}
            {/* After the content, so that the first field has the focus. */}
            <Modal.CloseButton
              aria-label="Close"
              pos="absolute"
              top="var(--mantine-spacing-md)"
              right="var(--mantine-spacing-md)"
            />
          </Modal.Body>
        </Modal.Content>
      </Modal.Root>
    </>
  );
};

type ButtonsProps = {
  /** The label of the button that confirms. */
  action: string;
  /** The label of the button that cancels. */
  dismiss?: string | undefined;
  /** Default: it submits the form. */
  onAction?: (() => void) | undefined;
  onClose: () => void;
  isPending?: boolean;
  isDisabled?: boolean;
  /** Whether the action is irreversible. */
  isDanger?: boolean;
};

/** The buttons of a question, with the focus on Cancel, or of a form. */
export const DialogButtons = ({
  action,
  dismiss = 'Cancel',
  onAction,
  onClose,
  isPending = false,
  isDisabled = false,
  isDanger = false,
}: ButtonsProps) => (
  <Group justify="flex-end">
    <Button variant="default" onClick={onClose} {...(onAction && { 'data-autofocus': true })}>
      {dismiss}
    </Button>
    <Button
      {...(onAction ? { onClick: onAction } : { type: 'submit' })}
      {...(isDanger && { color: 'red' })}
      loading={isPending}
      disabled={isDisabled}
    >
      {action}
    </Button>
  </Group>
);
