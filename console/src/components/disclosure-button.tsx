import { Button } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import type { ReactNode } from 'react';

type Props = {
  isOpen: boolean;
  onToggle: () => void;
  /** Whether it stands for a loss. */
  isRed?: boolean;
  children: ReactNode;
};

/** Shows and hides what is below it. */
export const DisclosureButton = ({ isOpen, onToggle, isRed = false, children }: Props) => (
  <Button
    {...(isRed ? { variant: 'light', color: 'red' } : { variant: 'default' })}
    size="compact-sm"
    h="auto"
    mih="2rem"
    styles={{ label: { overflow: 'visible', whiteSpace: 'normal', textAlign: 'start' } }}
    aria-expanded={isOpen}
    onClick={onToggle}
    leftSection={
      isOpen ? <IconChevronDown size={16} aria-hidden /> : <IconChevronRight size={16} aria-hidden />
    }
  >
    {children}
  </Button>
);
