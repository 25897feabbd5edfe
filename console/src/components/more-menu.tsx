import { ActionIcon, Menu } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import type { ReactNode } from 'react';

/** Further actions of a screen, behind three dots. */
export const MoreMenu = ({ children }: { children: ReactNode }) => (
  <Menu position="bottom-end">
    <Menu.Target>
      <ActionIcon variant="default" size={36} aria-label="More actions">
        <IconDots size={18} stroke={1.6} aria-hidden />
      </ActionIcon>
    </Menu.Target>
    <Menu.Dropdown>{children}</Menu.Dropdown>
  </Menu>
);
