import { useBlocker } from '@tanstack/react-router';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { hasUnsavedWork } from '../components/unsaved-work.ts';

type Place = { pathname: string; search: object };

const clientOf = (search: object): unknown => ('client' in search ? search.client : undefined);

/** Whether the user leaves for another screen, or for another client on the same screen. A new search or sort order keeps the work. */
const leavesWork = ({ current, next }: { current: Place; next: Place }): boolean =>
  hasUnsavedWork() &&
  (current.pathname !== next.pathname || clientOf(current.search) !== clientOf(next.search));

/** Asks before unsaved work is lost. The browser asks when the tab is closed or reloaded. */
export const LeaveDialog = () => {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: leavesWork,
    enableBeforeUnload: hasUnsavedWork,
    withResolver: true,
  });
  return (
    <ConfirmModal
      isOpen={status === 'blocked'}
      title="Leave without saving?"
      action="Leave without saving"
      dismiss="Stay"
      isDanger
      onConfirm={() => proceed?.()}
      onClose={() => reset?.()}
    >
      What you have entered or changed on this screen will be lost.
    </ConfirmModal>
  );
};
