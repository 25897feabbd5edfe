import type { TestApp } from './test-app.ts';

/** The address of the app. The first call makes it listen. */
export const addressOf = async ({ server }: TestApp): Promise<string> => {
  if (!server.server.listening) await server.listen({ port: 0, host: '127.0.0.1' });
  return server.listeningOrigin;
};
