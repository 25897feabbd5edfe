import { Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** Something to know about the screen. Without a description of itself, which Mantine's alerts have: readers would hear it twice. */
export const Notice = ({ children }: { children: ReactNode }) => (
  <Text component="div" role="note" size="sm" className="notice" mb="md">
    {children}
  </Text>
);
