import { tokenDigest } from '../../src/services/auth/credentials.ts';
import type { TestApp } from './test-app.ts';
import { usedView } from './tickets.ts';

export type GateOptions = { as?: string; headers?: Record<string, string> };

/** Asks as a proxy does that forwards the credentials of a browser. */
export const askGate = (app: TestApp, options: GateOptions = {}, path = '/gate/sales/') =>
  app.send(`GET !${path}`, options);

/** The cookie of a browser that has opened a view of the app Sales. */
export const openedView = async (app: TestApp, view: Parameters<typeof usedView>[1] = {}) => {
  const { useId, viewId } = await usedView(app, view);
  const secret = `secret-${useId}`;
  const row = { digest: tokenDigest(secret), access_view_use_id: useId };
  const expires_at = new Date(app.clock.now().getTime() + 60_000);
  await app
    .db()
    .insertInto('embed_sessions')
    .values({ ...row, expires_at })
    .execute();
  return { useId, viewId, secret, headers: { cookie: `__Host-steward_embed_sales=${secret}` } };
};
