import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';

/**
 * Opens the dialog that the address asks for, such as `?do=suspend`, and drops it from the address, so that a reload does not ask again.
 * @param dialogs how to open each; false: it does not apply, or the user may not use it
 */
export const useAskedDialog = (dialogs: Record<string, (() => void) | false>): void => {
  const { do: asked }: { do?: string | undefined } = useSearch({ strict: false });
  const navigate = useNavigate();
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each question
  useEffect(() => {
    const open = asked === undefined ? undefined : dialogs[asked];
    if (open === undefined) return;
    if (open) open();
    const search = (previous: object) => ({ ...previous, do: undefined });
    void navigate({ to: '.', search, replace: true, resetScroll: false });
  }, [asked]);
};
