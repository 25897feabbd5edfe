import { MINUTE_MS } from '../../lib/clock.ts';
import { Problem } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';

const MAX_AGE_MS = 15 * MINUTE_MS;

/**
 * Guards what would outlast a stolen or unattended browser session, such as a new token. Callers with an API token are
 * not asked: they have no password to enter.
 * @throws Problem `reauthentication-required`
 */
export const requireRecentPassword = ({ credential: via }: Actor, now: Date): void => {
  if (!via?.authenticatedAt || now.getTime() - via.authenticatedAt.getTime() <= MAX_AGE_MS) return;
  throw new Problem('reauthentication-required');
};
