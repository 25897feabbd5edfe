import { useRouter } from '@tanstack/react-router';
import { useEffect, useSyncExternalStore } from 'react';
import { serverNow } from '../server-clock.ts';

/** An operation that can be undone from every screen. */
export type UndoOffer = { title: string; operation: string; until: Date };

let current: UndoOffer | null = null;
const listeners = new Set<() => void>();

const set = (offer: UndoOffer | null): void => {
  current = offer;
  for (const listener of listeners) listener();
};

/** Replaces an earlier offer. */
export const offerUndo = (offer: UndoOffer): void => set(offer);

export const endUndoOffer = (): void => set(null);

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useUndoOffer = (): UndoOffer | null => useSyncExternalStore(subscribe, () => current);

/**
 * Offers the undo of an operation on other screens when the user leaves its own, until it expires.
 * @param until null if there is nothing to undo
 */
export const useUndoElsewhere = (title: string, operation: string, until: Date | null): void => {
  const router = useRouter();
  useEffect(() => {
    if (until === null) return;
    return router.subscribe('onBeforeNavigate', ({ pathChanged }) => {
      if (pathChanged && until.getTime() > serverNow()) offerUndo({ title, operation, until });
    });
  }, [router, title, operation, until]);
};
