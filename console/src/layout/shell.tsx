import { Anchor, AppShell, Box, Burger, Group, ScrollArea, Skeleton, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Suspense } from 'react';
import { ClientChooser } from './client-chooser.tsx';
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
      layout="alt"
      header={{ height: { base: 52, sm: 0 } }}
      navbar={{ width: 216, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', sm: 'lg' }}
      transitionDuration={0}
    >
      <Anchor href="#content" className="skip-link">
        Skip to content
      </Anchor>
      <AppShell.Header hiddenFrom="sm">
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              size="sm"
              aria-label="Navigation"
              aria-expanded={isOpen}
            />
            <Brand />
          </Group>
          <Group wrap="nowrap">
            <PaletteButton />
            <UserMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar className="navigation" aria-label="Main">
        <Group h={52} px="md" justify="space-between">
          <Brand />
          <Burger opened onClick={close} hiddenFrom="sm" size="sm" aria-label="Close the navigation" />
        </Group>
        <Stack gap="xs" px="sm" pb="sm">
          <ClientChooser />
          <Box visibleFrom="sm">
            <PaletteButton isWide />
          </Box>
        </Stack>
        <ScrollArea px="sm" flex={1}>
          <Navigation onNavigate={close} />
        </ScrollArea>
        <Box visibleFrom="sm" className="navigation-end">
          <UserMenu isWide />
        </Box>
      </AppShell.Navbar>
      <AppShell.Main id="content" className="content">
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
