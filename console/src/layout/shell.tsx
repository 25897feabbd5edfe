import { Anchor, AppShell, Burger, Group, Skeleton, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Suspense } from 'react';
import { ConnectionBanner } from './connection-banner.tsx';
import { LeaveDialog } from './leave-dialog.tsx';
import { Navigation } from './navigation.tsx';
import { Palette, PaletteButton } from './palette.tsx';
import { ScreenOutlet } from './screen-outlet.tsx';
import { UndoBanner } from './undo-banner.tsx';
import { UserMenu } from './user-menu.tsx';

/** The frame of every screen. */
export const Shell = () => (
  <Suspense fallback={<Skeleton height="100vh" />}>
    <Frame />
  </Suspense>
);

const Frame = () => {
  const [isOpen, { toggle, close }] = useDisclosure();
  return (
    <AppShell
      header={{ height: 60 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="lg"
      transitionDuration={0}
    >
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group wrap="nowrap">
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
            <Anchor href="#content" className="skip-link">
              Skip to content
            </Anchor>
            <Text ff="heading" fw={600} size="lg">
              Steward
            </Text>
          </Group>
          <Group wrap="nowrap">
            <PaletteButton />
            <UserMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm">
        <Navigation onNavigate={close} />
      </AppShell.Navbar>
      <AppShell.Main id="content">
        <ConnectionBanner />
        <UndoBanner />
        <Suspense fallback={<ScreenSkeleton />}>
          <ScreenOutlet />
        </Suspense>
      </AppShell.Main>
      <Palette />
      <LeaveDialog />
    </AppShell>
  );
};

const ScreenSkeleton = () => (
  <>
    <Skeleton height={40} width={240} mb="lg" />
    <Skeleton height={320} />
  </>
);
