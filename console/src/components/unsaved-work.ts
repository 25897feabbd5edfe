import { useEffect, useId } from 'react';

/** What holds unsaved work now, by the ids of its components. */
const holders = new Set<string>();

export const hasUnsavedWork = (): boolean => holders.size > 0;

/**
 * Asks before the user leaves the screen, as long as it holds unsaved work. The question is in `LeaveDialog`.
 * @returns releases the work without a question, because it is kept elsewhere
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
