import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './empty-state.module.css';

type Props = {
  title: string;
  /** What the user can do. */
  children?: ReactNode;
  /** A button for this. */
  action?: ReactNode;
};

export const EmptyState = ({ title, children, action }: Props) => (
  <div className={classes.empty}>
    <Text fw={600}>{title}</Text>
    <Text c="dimmed" maw="40rem">
      {children}
    </Text>
    {action}
  </div>
);
