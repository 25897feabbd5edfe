import { Button, Stack, Text } from '@mantine/core';
import type { App } from '../apps/app-of.ts';
import { ScreenHeader } from '../components/screen-header.tsx';

/** An app for its members: its description, and the link that opens it. */
export const MemberApp = ({ app }: { app: App }) => (
  <>
    <ScreenHeader title={app.label} />
    <Stack className="card" align="flex-start">
      {app.description !== '' && <Text>{app.description}</Text>}
      {app.in_maintenance && <Text c="dimmed">It is in maintenance: you see its message instead.</Text>}
      <Button component="a" href={`/launch/${app.slug}/`}>
        Open {app.label}
      </Button>
    </Stack>
  </>
);
