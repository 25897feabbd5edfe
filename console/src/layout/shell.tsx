import { Anchor, Box, Burger, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Suspense } from 'react';
import { useLive } from '../live/use-live.ts';
import { ClientChooser } from './client-chooser.tsx';
import { ConnectionBanner } from './connection-banner.tsx';
import { FactorBanner } from './factor-banner.tsx';
import { LeaveDialog } from './leave-dialog.tsx';
import { Navigation } from './navigation.tsx';
import { Palette, PaletteButton } from './palette.tsx';
import { ScreenOutlet } from './screen-outlet.tsx';
import classes from './shell.module.css';
import { Toaster } from './toaster.tsx';
import { UserMenu } from './user-menu.tsx';

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
    <div className={classes.frame}>
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
