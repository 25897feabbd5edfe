import { ActionIcon } from '@mantine/core';
import { IconX } from '@tabler/icons-react';

type Props = {
  /** The object to remove, and from where if the list does not make that clear: `Remove ada@acme.test`. */
  label: string;
  onClick: () => void;
};

/** Removes a row from a list: a cross at its end. */
export const RemoveButton = ({ label, onClick }: Props) => (
  <ActionIcon variant="subtle" color="gray" size={30} aria-label={label} title="Remove" onClick={onClick}>
    <IconX size={16} stroke={1.6} aria-hidden />
  </ActionIcon>
);

/** The last column of a list whose rows can be removed. Its heading is for screen readers. */
export const REMOVE_COLUMN = {
  id: 'remove',
  heading: <span className="visually-hidden">Remove</span>,
  width: '2rem',
  onPhone: 'corner',
} as const;
