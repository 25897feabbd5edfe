import react from '@vitejs/plugin-react';
import { defineConfig, loadEnv } from 'vite';

export default defineConfig(({ mode }) => {
  const { STEWARD_URL = 'http://localhost:8000' } = loadEnv(mode, '.', 'STEWARD_');
  // Steward accepts cookies only from its own origin. With `changeOrigin` it would get another `Host` than the browser's.
  const steward = { target: STEWARD_URL, changeOrigin: false };
  return {
    plugins: [react()],
    // `vite preview` uses them too.
    server: { proxy: { '/api': steward, '/trpc': steward } },
  };
});
