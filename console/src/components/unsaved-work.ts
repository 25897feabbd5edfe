import { useEffect, useId } from 'react';

/** The ids of the components that hold unsaved work now. */
const holders = new Set<string>();

export const hasUnsavedWork = (): boolean => holders.size > 0;

/**
 * Asks before the user leaves the screen while there is unsaved work. `LeaveDialog` shows the question.
 * @returns a function that releases the work without a question, because it is kept elsewhere
 */
export const useUnsavedWork = (isUnsaved: boolean): (() => void) => {
  const id = useId();
  useEffect(() => {
    if (!isUnsaved) return;
    holders.add(id);
    return () => {
      holders.delete(id);
    };
  }, [id, isUnsaved]);
  return () => {
    holders.delete(id);
  };
};
