import { ActionIcon, Menu } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import type { ReactNode } from 'react';

type Props = {
  /** The accessible name, with the name of the row: `Actions for ada@acme.test`. */
  label: string;
  isPending?: boolean;
  children: ReactNode;
};

/** The actions for a row, behind three dots at its end. */
export const RowMenu = ({ label, isPending = false, children }: Props) => (
  <Menu position="bottom-end">
    <Menu.Target>
      <ActionIcon variant="subtle" color="gray" size={30} loading={isPending} aria-label={label}>
        <IconDots size={16} stroke={1.6} aria-hidden />
      </ActionIcon>
    </Menu.Target>
    <Menu.Dropdown>{children}</Menu.Dropdown>
  </Menu>
);

/** The last column of a list whose rows have a menu. Its heading is for screen readers. */
export const ROW_MENU_COLUMN = {
  id: 'menu',
  heading: <span className="visually-hidden">Actions</span>,
  width: '2rem',
  onPhone: 'corner',
} as const;
