import { Text } from '@mantine/core';
import { ConfirmModal } from '../components/confirm-modal.tsx';

type Props = {
  isOpen: boolean;
  email: string;
  /** Names of the clients in which the person is suspended. */
  clients: string;
  onConfirm: () => void;
  onClose: () => void;
};

/** Asks before a person loses the apps of some clients, and explains what stays. */
export const SuspendModal = ({ isOpen, email, clients, onConfirm, onClose }: Props) => (
  <ConfirmModal
    isOpen={isOpen}
    title={`Suspend ${email} in ${clients}?`}
    action="Suspend"
    onConfirm={onConfirm}
    onClose={onClose}
  >
    <Text>
      They lose the apps of {clients}, and those that are open end at once. They may still log in, and other
      clients notice nothing.
    </Text>
    <Text>If you reactivate them later, grant the apps again.</Text>
  </ConfirmModal>
);
