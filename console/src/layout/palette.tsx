import { Button, Kbd } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useSyncExternalStore } from 'react';
import { PaletteDialog } from './palette-dialog.tsx';
import { useRememberedPlaces } from './recent-places.ts';
import { useSession } from './use-session.ts';

let isOpen = false;
const listeners = new Set<() => void>();

const setOpen = (value: boolean): void => {
  isOpen = value;
  for (const listener of listeners) listener();
};

const open = (): void => setOpen(true);
const close = (): void => setOpen(false);

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

const KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘ K' : 'Ctrl K';

/** @param isWide in the navigation instead of the header for phones */
export const PaletteButton = ({ isWide = false }: { isWide?: boolean }) => (
  <Button
    variant="default"
    onClick={open}
    fullWidth={isWide}
    flex="none"
    aria-haspopup="dialog"
    leftSection={<IconSearch size={16} stroke={1.6} aria-hidden />}
    {...(isWide && {
      justify: 'flex-start',
      px: 'sm',
      fw: 500,
      c: 'dimmed',
      styles: { label: { flex: 1 } },
      rightSection: (
        <Kbd size="xs" className="nowrap" aria-hidden>
          {KEYS}
        </Kbd>
      ),
    })}
  >
    Search
  </Button>
);

/** ⌘K or `/`: finds people, groups, apps and clients, leads to every screen and its parts, and runs actions. */
export const Palette = () => {
  useRememberedPlaces(useSession().user.email);
  useHotkeys([['/', open]]);
  // Also works while a field has the focus.
  useHotkeys([['mod + K', open]], []);
  return useSyncExternalStore(subscribe, () => isOpen) && <PaletteDialog onClose={close} />;
};
