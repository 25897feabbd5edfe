import { Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** A notice on a screen. Without `aria-describedby` on itself, which Mantine's alerts have: screen readers would read it twice. */
export const Notice = ({ children }: { children: ReactNode }) => (
  <Text component="div" role="note" size="sm" className="notice" mb="md">
    {children}
  </Text>
);
