import '@fontsource-variable/inter/wght.css';
import '@mantine/core/styles.css';
import './theme/theme.css';
import '../../src/lib/bigint-json.ts';
import { MantineProvider } from '@mantine/core';
import { isProblem } from '@steward/client';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient, sessionQuery } from './api.ts';
import { router } from './router.tsx';
import { cssVariables, theme } from './theme/theme.ts';

// Before React renders: the frame of every screen needs the session, and the screen needs its script.
void queryClient.prefetchQuery(sessionQuery);
void router.load();

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no element #root.');

createRoot(root, {
  // An ended session is no error: the page is leaving for the login page.
  onCaughtError: (error) => {
    if (!isProblem(error, 'unauthenticated')) console.error(error);
  },
}).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
