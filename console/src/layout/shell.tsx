import {
  Anchor,
  Avatar,
  Box,
  Burger,
  Button,
  Group,
  Kbd,
  Menu,
  Skeleton,
  Stack,
  Text,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { Link, Outlet, useBlocker, useRouterState } from '@tanstack/react-router';
import { Suspense, useSyncExternalStore } from 'react';
import { avatarOf } from '../components/avatar-of.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { titleCutText } from '../components/cut-text.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { HeaderLink } from '../components/header-link.tsx';
import { nameOf } from '../components/name-of.ts';
import { ScreenHeader } from '../components/screen-header.tsx';
import { hasUnsavedWork } from '../components/unsaved-work.ts';
import { useLive } from '../live/use-live.ts';
import { useOneClient } from '../session/client-choice.ts';
import { kindsOf, type Screen, screenAt } from '../session/screens.ts';
import { useSession } from '../session/use-session.ts';
import { ClientChooser, ClientQuestion } from './client-chooser.tsx';
import { ConnectionBanner } from './connection-banner.tsx';
import { FactorBanner } from './factor-banner.tsx';
import { logOut } from './log-out.ts';
import { Navigation } from './navigation.tsx';
import { PaletteDialog } from './palette-dialog.tsx';
import { useRememberedPlaces } from './recent-places.ts';
import classes from './shell.module.css';
import { Toaster } from './toaster.tsx';

/** The frame of every screen. */
export const Shell = () => (
  <Suspense fallback={<Skeleton height="100vh" />}>
    <Frame />
  </Suspense>
);

const Frame = () => {
  const [isOpen, { toggle, close }] = useDisclosure();
  useLive();
  return (
    <div className={classes.frame} onPointerOver={titleCutText}>
      <Anchor href="#content" className="skip-link">
        Skip to content
      </Anchor>
      <header className={classes.header}>
        <Group wrap="nowrap">
          <Burger opened={isOpen} onClick={toggle} size="sm" aria-label="Navigation" aria-expanded={isOpen} />
          <Brand />
        </Group>
        <Group wrap="nowrap">
          <PaletteButton />
          <UserMenu />
        </Group>
      </header>
      <div className={classes.side}>
        <nav className={classes.navigation} aria-label="Main" data-open={isOpen || undefined}>
          <Group h={52} px="md" justify="space-between" flex="none">
            <Brand />
            <Burger opened onClick={close} hiddenFrom="sm" size="sm" aria-label="Close the navigation" />
          </Group>
          <Stack gap="xs" px="sm" pb="sm">
            <ClientChooser />
            <Box visibleFrom="sm">
              <PaletteButton isWide />
            </Box>
          </Stack>
          <div className={classes.screens}>
            <Navigation onNavigate={close} />
          </div>
          <Box visibleFrom="sm" className={classes.user}>
            <UserMenu isWide />
          </Box>
        </nav>
      </div>
      <main id="content" className={`content ${classes.main}`}>
        <ConnectionBanner />
        <FactorBanner />
        <Suspense fallback={<ScreenSkeleton />}>
          <ScreenOutlet />
        </Suspense>
      </main>
      <Toaster />
      <Palette />
      <LeaveDialog />
    </div>
  );
};

const Brand = () => (
  <Group gap="xs">
    <span className="brand-mark" aria-hidden>
      S
    </span>
    <Text fw={650} size="lg">
      Steward
    </Text>
  </Group>
);

const ScreenSkeleton = () => (
  <>
    <Skeleton height={40} width={240} mb="lg" />
    <Skeleton height={320} />
  </>
);

type Place = { pathname: string; search: object };

const clientOf = (search: object): unknown => ('client' in search ? search.client : undefined);

/** Whether the user leaves for another screen, or for another client on the same screen. A new search or sort order keeps the work. */
const leavesWork = ({ current, next }: { current: Place; next: Place }): boolean =>
  hasUnsavedWork() &&
  (current.pathname !== next.pathname || clientOf(current.search) !== clientOf(next.search));

/** Asks before unsaved work is lost. The browser asks when the tab is closed or reloaded. */
const LeaveDialog = () => {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: leavesWork,
    enableBeforeUnload: hasUnsavedWork,
    withResolver: true,
  });
  return (
    <ConfirmModal
      isOpen={status === 'blocked'}
      title="Leave without saving?"
      action="Leave without saving"
      dismiss="Stay"
      isDanger
      onConfirm={() => proceed?.()}
      onClose={() => reset?.()}
    >
      Your changes on this screen will be lost.
    </ConfirmModal>
  );
};

const listOf = new Intl.ListFormat('en');

/** The screen of the address. If it is for other users, its calls, which the API would refuse, are not sent. */
const ScreenOutlet = () => {
  const { roles } = useSession();
  const route = useRouterState({ select: ({ matches }) => matches.at(-1)?.routeId });
  const screen = route === undefined || route === '__root__' ? undefined : screenAt(route);
  if (screen && !screen.isFor(roles)) return <Refusal screen={screen} />;
  return screen?.clients === 'one' ? <OneClientOutlet screen={screen} /> : <Outlet />;
};

/** A screen for one client. With several clients and none chosen, it asks first. */
const OneClientOutlet = ({ screen }: { screen: Screen }) => {
  const { client, clients } = useOneClient();
  return client === undefined && clients.length > 1 ? <ClientQuestion title={screen.label} /> : <Outlet />;
};

const Refusal = ({ screen }: { screen: Screen }) => (
  <>
    <ScreenHeader title={screen.label} />
    <div role="alert">
      <EmptyState
        title={`You have no access to ${screen.label}`}
        action={<HeaderLink to="/">Go to your apps</HeaderLink>}
      >
        This screen is for {listOf.format(kindsOf(screen))}. Ask an admin of your client, or a superuser, for
        the role.
      </EmptyState>
    </div>
  </>
);

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
const PaletteButton = ({ isWide = false }: { isWide?: boolean }) => (
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
const Palette = () => {
  useRememberedPlaces(useSession().user.email);
  useHotkeys([['/', open]]);
  // Also works while a field has the focus.
  useHotkeys([['mod + K', open]], []);
  return useSyncExternalStore(subscribe, () => isOpen) && <PaletteDialog onClose={close} />;
};

/** @param isWide at the end of the navigation instead of the header for phones */
const UserMenu = ({ isWide = false }: { isWide?: boolean }) => {
  const session = useSession();
  const { user } = session;
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu position={isWide ? 'top-start' : 'bottom-end'}>
      <Menu.Target>
        <Button
          variant="subtle"
          px="xs"
          flex="none"
          aria-label={isWide ? `${nameOf(user)}, account of ${user.email}` : `Account of ${user.email}`}
          {...(isWide && { fullWidth: true, justify: 'flex-start', h: 40 })}
        >
          <Avatar src={avatarOf(user)} alt="" size={isWide ? 24 : 32} />
          {isWide && (
            <Text span ml="xs" size="sm" fw={500} c="var(--mantine-color-text)" truncate>
              {nameOf(user)}
            </Text>
          )}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{user.email}</Menu.Label>
        <Menu.Item renderRoot={(props) => <Link {...props} to="/account" />}>Account</Menu.Item>
        <Menu.Item component="a" href="/">
          Apps and sessions
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>Colors</Menu.Label>
        {(['auto', 'light', 'dark'] as const).map((scheme) => (
          <Menu.Item
            key={scheme}
            onClick={() => setColorScheme(scheme)}
            aria-checked={scheme === colorScheme}
          >
            {{ auto: 'Like the system', light: 'Light', dark: 'Dark' }[scheme]}
            {scheme === colorScheme && ' ✓'}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void logOut(session)}>Log out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
};
