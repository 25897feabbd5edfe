import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Home } from './home.tsx';
import { queryClient, steward, TRPCProvider } from './steward.ts';
import './style.css';

const root = document.getElementById('root');
if (!root) throw new Error('There is no #root.');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <TRPCProvider trpcClient={steward.api} queryClient={queryClient}>
        <Home />
      </TRPCProvider>
    </QueryClientProvider>
  </StrictMode>,
);
