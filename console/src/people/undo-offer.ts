import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { notifyWithUndo, type Undoable } from '../components/toasts.ts';
import { serverNow } from '../server-clock.ts';

/** An operation that can be undone from every screen. */
export type UndoOffer = Undoable & { title: string };

/** Shows the message with an undo. Replaces an earlier offer. */
export const offerUndo = ({ title, ...undo }: UndoOffer): void => notifyWithUndo(title, undo);

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
