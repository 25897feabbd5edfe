import type { TestApp } from './test-app.ts';

/** The address at which the app listens, from the first time that somebody asks. */
export const addressOf = async ({ server }: TestApp): Promise<string> => {
  if (!server.server.listening) await server.listen({ port: 0, host: '127.0.0.1' });
  return server.listeningOrigin;
};
